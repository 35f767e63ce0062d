/**
 * Sign-in links in e-mails. The token is created when the mail is sent, so neither the outbox nor the
 * files of the database ever contain it. Each attempt to send has its own token.
 */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { removeAccount } from '#keys/lifecycle/accounts.ts';
import { mailSignInLink } from '#keys/lifecycle/sign-in.ts';
import type { Mail, Mailer } from '#keys/mail/mailer.ts';
import { enqueueMail, listMails, sendDueMails } from '#keys/mail/outbox.ts';
import { openLink } from '#keys/tables/sign-in-links.ts';
import type { AccountId } from '#keys/tables/values.ts';
import { hashToken } from '#keys/tables/values.ts';
import { openDatabase } from '#lib/database/open.ts';
import { AT, later, openKeysDatabase, PUBLIC_URL } from '#test/keys/keys-database.ts';
import {
  linkOf,
  linksTo,
  makeAccounts,
  makeVisitor,
  openPages,
  PEOPLE,
  tokenOf,
} from '#test/support/account.ts';
import { KINDS } from '#test/support/databases.ts';
import { makeFolder } from '#test/support/product.ts';

const MINUTE = 60;

/** A mailer that records mails, and can be made to fail after recording one. */
function makeRecorder() {
  const mails: Mail[] = [];
  let failure: ((mail: Mail) => Error) | undefined;
  const mailer: Mailer = {
    async send(mail) {
      mails.push(mail);
      if (failure) throw failure(mail);
    },
  };
  return {
    mails,
    mailer,
    fail: (how: typeof failure) => {
      failure = how;
    },
    tokens: () => mails.map(({ text }) => tokenOf(linkOf(text))),
  };
}

describe.each(KINDS)('a mailed link, with a %s database', async (kind) => {
  const database = await openKeysDatabase(kind);
  let post: ReturnType<typeof makeRecorder>;
  beforeEach(async () => {
    post = makeRecorder();
    await database.run('DELETE FROM mail_outbox');
  });

  const requestLink = async (at = AT) => {
    const owner = await database.addOwner();
    expect(await mailSignInLink(database, owner.email, { at, publicUrl: PUBLIC_URL })).toBe(true);
    return owner;
  };
  const send = (seconds = 0) => sendDueMails(database, post.mailer, later(seconds));
  const linksOf = async (accountId: AccountId) => {
    const sql = 'SELECT token_hash FROM sign_in_links WHERE account_id = ?';
    return (await database.rows(sql, [accountId])).map(([tokenHash]) => tokenHash);
  };
  const everyRow = async () => {
    const links = await database.rows('SELECT * FROM sign_in_links');
    return JSON.stringify([links, await database.rows('SELECT * FROM mail_outbox')]);
  };

  it('works once, and the database contains only its hash', async () => {
    const owner = await requestLink();
    expect(await send()).toEqual({ sent: 1, failed: 0 });
    const [mail] = post.mails;
    expect(mail).toMatchObject({ to: owner.email, subject: 'Your sign-in link' });
    const [token = ''] = post.tokens();
    expect(mail?.text).toContain(`\n${PUBLIC_URL}/account/sign-in/link?token=${token}\n`);
    expect(mail?.text).toContain('It works once, within 15 minutes.');
    expect(token).toMatch(/^[\w-]{43}$/);
    expect(await linksOf(owner.id)).toEqual([hashToken(token)]);
    expect(await everyRow()).not.toContain(token);
    expect(await database.rows('SELECT body FROM mail_outbox')).toEqual([['']]);
    expect(await openLink(database, token, AT)).toBe(owner.id);
    expect(await openLink(database, token, AT)).toBeUndefined();
  });

  // The rest does not depend on the database.
  if (kind === 'mysql') return;

  it('is stored with its account and without a token before it is sent', async () => {
    const owner = await requestLink();
    const [mail] = await database.rows('SELECT recipient, expires_at, body FROM mail_outbox');
    const [recipient, expiresAt, body] = mail ?? [];
    const [placeholder] = await linksOf(owner.id);
    expect([recipient, expiresAt]).toEqual([owner.email, '2026-03-04 05:21:07']);
    expect(JSON.parse(String(body))).toEqual({
      sign_in: { account_id: owner.id, replaces: placeholder, public_url: PUBLIC_URL },
    });
    expect(await openLink(database, String(placeholder), AT)).toBeUndefined();
  });

  it('works for 15 minutes after it is sent', async () => {
    const [first, second] = [await requestLink(), await requestLink()];
    expect(await send(10 * MINUTE)).toEqual({ sent: 2, failed: 0 });
    const [early = '', late = ''] = post.tokens();
    expect(await openLink(database, early, later(25 * MINUTE - 1))).toBe(first.id);
    // A minute after the expiry, because sending takes some time, too.
    expect(await openLink(database, late, later(26 * MINUTE))).toBeUndefined();
    expect(await linksOf(second.id)).toHaveLength(1);
  });

  it('has another token in each attempt to send it, and only the last one works', async () => {
    const owner = await requestLink();
    post.fail(() => new Error('try again'));
    expect(await send()).toEqual({ sent: 0, failed: 1 });
    expect(await send(10)).toEqual({ sent: 0, failed: 1 });
    post.fail(undefined);
    expect(await send(30)).toEqual({ sent: 1, failed: 0 });
    const tokens = post.tokens();
    expect(new Set(tokens).size).toBe(3);
    // Mail programs show only one of several mails with the same id.
    expect(new Set(post.mails.map(({ id }) => id)).size).toBe(3);
    expect(await linksOf(owner.id)).toEqual([hashToken(tokens[2] ?? '')]);
    const opened = [];
    for (const token of tokens) opened.push(await openLink(database, token, later(31)));
    expect(opened).toEqual([undefined, undefined, owner.id]);
  });

  it('is not sent again once it was used, even if the mail server reported an error', async () => {
    const owner = await requestLink();
    post.fail(() => new Error('connection lost'));
    await send();
    const [token = ''] = post.tokens();
    expect(await openLink(database, token, later(5))).toBe(owner.id);
    post.fail(undefined);
    expect(await send(10)).toEqual({ sent: 0, failed: 0 });
    expect(post.mails).toHaveLength(1);
    expect(await listMails(database)).toEqual([
      expect.objectContaining({ next_attempt_at: null, last_error: expect.stringMatching(/used/) }),
    ]);
  });

  it('is removed from the error of a mail server before that is stored', async () => {
    await requestLink();
    post.fail(({ text }) => new Error(`550 spam: ${text}`));
    await send();
    const [token = ''] = post.tokens();
    expect((await listMails(database))[0]?.last_error).toMatch(/^550 spam: .*token=…/s);
    expect(await everyRow()).not.toContain(token);
  });

  it('is not sent if its account was removed or has another address', async () => {
    const [gone, moved] = [await requestLink(), await requestLink()];
    await removeAccount(database, gone.id);
    await database.run('UPDATE accounts SET email = ? WHERE id = ?', ['new@x.example', moved.id]);
    expect(await send()).toEqual({ sent: 0, failed: 0 });
    expect(post.mails).toEqual([]);
  });
});

describe('the files of a SQLite database', () => {
  const everyByte = (file: string) => {
    const files = readdirSync(path.dirname(file)).map((name) => path.join(file, '..', name));
    return files.map((each) => readFileSync(each, 'latin1')).join('\n');
  };

  it('never contain the token of a mailed link, and soon no longer the text of a sent mail', async () => {
    const databaseUrl = await makeAccounts();
    const file = databaseUrl.slice('sqlite:'.length);
    // An open connection prevents SQLite from cleaning up when other connections close.
    const database = await openDatabase(databaseUrl);
    const textOf = (i: number) => `a text of a mail, number ${i} ${'x'.repeat(i * 100)}.`;
    const secrets = Array.from({ length: 40 }, (_, i) => textOf(i));
    for (const [i, body] of secrets.entries()) {
      const mail = { recipient: `somebody-${i}@covers.example`, subject: 'News', body };
      await enqueueMail(database, { ...mail, at: new Date() });
    }
    const foundIn = (bytes: string) => secrets.filter((text) => bytes.includes(text));
    expect(foundIn(everyByte(file))).toEqual(secrets);

    const mailFolder = makeFolder();
    const pages = await openPages(databaseUrl, { MAIL_FOLDER: mailFolder });
    const visitor = makeVisitor(pages.url);
    const { email } = PEOPLE.owner;
    let seen = '';
    for (let i = 0; i < 3; i++) {
      await visitor.post('/account/sign-in', { email });
      seen += everyByte(file);
    }
    await pages.sendMails();
    const tokens = linksTo(email, mailFolder).map(tokenOf);
    expect(tokens).toHaveLength(3);
    const isSent = "SELECT COUNT(*) FROM mail_outbox WHERE sent_at IS NULL OR body <> ''";
    expect(await database.rows(isSent)).toEqual([[0]]);
    // The text leaves the database at once, and the write-ahead log at the end of the round.
    expect(foundIn(everyByte(file))).toEqual([]);
    seen += everyByte(file);
    for (const token of tokens) expect(seen.includes(token)).toBe(false);
    expect(seen).toContain(hashToken(tokens[0] ?? ''));
    await database.close();
    await pages.stop();
  });
});
