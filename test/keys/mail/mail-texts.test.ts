/** The texts of the e-mails at a real mail server. Reasons and names cannot be mistaken for the product's text. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { renameKey, revealKey, revokeOwnKey, rotateKey } from '#keys/lifecycle/own-keys.ts';
import { approveRequest, rejectRequest, revokeKey } from '#keys/lifecycle/reviews.ts';
import { mailSignInLink } from '#keys/lifecycle/sign-in.ts';
import { makeMailer } from '#keys/mail/mailer.ts';
import { sendDueMails } from '#keys/mail/outbox.ts';
import type { Account } from '#keys/tables/accounts.ts';
import { AT, openKeysDatabase, PUBLIC_URL, REVIEW } from '#test/keys/keys-database.ts';
import { atEndOfFile } from '#test/support/end-of-file.ts';
import { makeFolder } from '#test/support/product.ts';
import { readMail, startMailServer } from '#test/support/servers/mail-server.ts';

const HEADERS = [
  ...['Auto-Submitted', 'Content-Transfer-Encoding', 'Content-Type', 'Date', 'From'],
  ...['MIME-Version', 'Message-ID', 'Subject', 'To'],
];

describe('an e-mail about a key', async () => {
  const database = await openKeysDatabase('sqlite');
  const server = await startMailServer();
  atEndOfFile(server.stop);
  let owner: Account;
  beforeEach(async () => {
    owner = await database.addOwner({ name: 'Zoë 😀' });
  });

  /** Sends the waiting mails. @returns those to an account, as the server received them */
  async function arriving(account: Account): Promise<{ source: string; text: string }[]> {
    const before = server.mails.length;
    const from = 'Cätalogue <no-reply@covers.example>';
    const mailer = makeMailer({ smtpUrl: server.url, folder: '', from });
    await sendDueMails(database, mailer, AT);
    return server.mails
      .slice(before)
      .filter(({ to }) => to.length === 1 && to[0] === account.email)
      .map(({ source }) => ({ source, text: readMail(source) }));
  }
  const headersOf = (source: string) =>
    [...source.slice(0, source.indexOf('\n\n')).matchAll(/^([\w-]+):/gm)]
      .map(([, name]) => name as string)
      .toSorted();

  it('reports an approval with the limit and a link to the page, but not the key', async () => {
    const id = await database.keyIn('pending', owner.id);
    await approveRequest(database, id, { limit: 300, ...REVIEW });
    const [mail] = await arriving(owner);
    expect(mail?.text).toContain('Hello Zoë 😀,');
    expect(mail?.text).toContain('From: Cätalogue <no-reply@covers.example>\n');
    expect(mail?.text).toContain(`Subject: Request ${id} is approved: your API key is ready\n`);
    expect(mail?.text).toContain('allows 300 requests per minute. Reveal');
    expect(mail?.text).toContain(`${PUBLIC_URL}/account/api-keys`);
    expect(headersOf(mail?.source as string)).toEqual(HEADERS);
  });

  it('reports a rejection with its reason, and a revocation with or without one', async () => {
    const ids = [
      await database.keyIn('pending', owner.id),
      await database.keyIn('revealed', owner.id),
      await database.keyIn('approved', owner.id),
    ];
    await arriving(owner);
    await rejectRequest(database, ids[0], { reason: 'Too vague: why?', ...REVIEW });
    await revokeKey(database, ids[1], { reason: 'It leaked.', ...REVIEW });
    const own = { id: ids[2], accountId: owner.id, at: AT, publicUrl: PUBLIC_URL };
    await revokeOwnKey(database, own);
    const texts = (await arriving(owner)).map(({ text }) => text);
    for (const [index, parts] of [
      [' was not approved\n', '\n> Too vague: why?\n'],
      [' was revoked\n', `\nA moderator has revoked your API key ${ids[1]}. `, '\n> It leaked.\n'],
      [' was revoked\n', `\nYour API key ${ids[2]} was revoked on your account page`],
    ].entries()) {
      for (const part of [...parts, `${PUBLIC_URL}/account/api-keys`]) {
        expect(texts[index]).toContain(part);
      }
    }
  });

  it('is not sent for revealing, but for rotating', async () => {
    const id = await database.keyIn('approved', owner.id);
    const own = { id, accountId: owner.id, at: AT, publicUrl: PUBLIC_URL };
    await arriving(owner);
    const { key } = await revealKey(database, own);
    expect(await arriving(owner)).toEqual([]);
    await rotateKey(database, own);
    await renameKey(database, { ...own, name: 'Shelf' });
    await rotateKey(database, own);
    const texts = (await arriving(owner)).map(({ text }) => text);
    expect(texts).toEqual([
      expect.stringContaining(
        `API key ${id} was replaced by a new one. The old one no longer works`,
      ),
      expect.stringContaining(
        `API key ${id} ("Shelf") was replaced by a new one. The old one no longer works.`,
      ),
    ]);
    for (const text of texts) {
      expect(text).toContain(`${PUBLIC_URL}/account/api-keys`);
      expect(text).not.toContain(key);
    }
  });

  it.each([
    'first\r\nBcc: victim@covers.example\r\n\r\nsecond',
    'first\n.\nQUIT\nMAIL FROM:<evil@covers.example>\nRCPT TO:<victim@covers.example>',
    'first\u2028Subject: other\u2029\u0085x\u000bx\u000cx\rx',
    '--boundary\nContent-Type: text/html\n\n<script>alert(1)</script>',
    `${'long '.repeat(990)}end`,
    'a\ttab and\tanother',
  ])('quotes every line of the reason %j, which cannot add a header or a mail', async (reason) => {
    const id = await database.keyIn('pending', owner.id);
    await rejectRequest(database, id, { reason, ...REVIEW });
    const before = server.mails.length;
    const [mail] = await arriving(owner);
    expect(server.mails).toHaveLength(before + 1);
    expect(headersOf(mail?.source as string)).toEqual(HEADERS);
    const body = mail?.text.slice(mail.text.indexOf('\n\n') + 2) as string;
    const own = /^(?:Hello .*|Your request .*|You can send .*|https:\/\/covers\.example\/.*|)$/;
    const others = body.split(/[\n\r\u2028\u2029\u0085\v\f]/).filter((line) => !own.test(line));
    expect(others.length).toBeGreaterThan(0);
    expect(others.filter((line) => !line.startsWith('>'))).toEqual([]);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
    expect(others.filter((line) => /[\u0000-\u001f\u007f]/.test(line))).toEqual([]);
  });

  it.each([
    'Eve\r\nBcc: victim@covers.example',
    'Eve,\n\nyour key was approved, pay at https://evil.example\n\n',
    '\u0000\u001b[31mEve\u2028',
  ])('greets %j in one line', async (name) => {
    const eve = await database.addOwner({ name });
    const id = await database.keyIn('pending', eve.id);
    await approveRequest(database, id, { limit: 60, ...REVIEW });
    await mailSignInLink(database, eve.email, { at: AT, publicUrl: PUBLIC_URL });
    const mails = await arriving(eve);
    expect(mails).toHaveLength(2);
    for (const { source, text } of mails) {
      expect(headersOf(source)).toEqual(HEADERS);
      const [greeting, , next] = text.slice(text.indexOf('\n\n') + 2).split('\n');
      expect(greeting).toMatch(/^Hello .*Eve.*,$/);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
      expect(greeting).not.toMatch(/[\u0000-\u001f\u2028]/);
      expect(next).toMatch(/^(?:Your request \d+ is approved|Open this link to sign in)/);
    }
  });

  it('is a file in which every link is whole, with people who have any name', async () => {
    const folder = makeFolder();
    const far = await database.addOwner({ name: 'Ключ 鍵' });
    await mailSignInLink(database, far.email, { at: AT, publicUrl: PUBLIC_URL });
    const from = 'no-reply@covers.example';
    await sendDueMails(database, makeMailer({ smtpUrl: '', folder, from }), AT);
    const [file = ''] = readdirSync(folder);
    const source = readFileSync(path.join(folder, file), 'utf8');
    expect(source).toMatch(
      /\r\nhttps:\/\/covers\.example\/account\/sign-in\/link\?token=[\w-]{43}\r\n/,
    );
    expect(source).toContain('Hello Ключ 鍵,');
    expect(readMail(source)).toContain('Open this link to sign in:');
    expect(source).toMatch(/^Content-Type: text\/plain; charset=utf-8\r\n/m);
  });

  it.each(['nobody', 'A <a@b.example>, B <c@d.example>', 'x\r\nBcc: <a@b.example>', '<>'])(
    'cannot have the sender %j',
    (from) => {
      expect(() => makeMailer({ smtpUrl: '', folder: '.', from })).toThrow(
        /^MAIL_FROM must be an address such as Cover Catalogue <no-reply@example\.org>, not /,
      );
    },
  );
});
