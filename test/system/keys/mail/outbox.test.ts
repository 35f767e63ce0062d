/** The outbox sends e-mails to a real mail server or to files, also if servers, disks or programs fail. */
import { readdirSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { approveRequest } from '#keys/lifecycle/reviews.ts';
import { makeMailer } from '#keys/mail/mailer.ts';
import {
  enqueueMail,
  listGivenUp,
  listMails,
  removeOldMails,
  retryAll,
  sendDueMails,
} from '#keys/mail/outbox.ts';
import { AT, later, openKeysDatabase, REVIEW } from '#test/keys/keys-database.ts';
import { KINDS } from '#test/support/databases.ts';
import { makeFolder } from '#test/support/product.ts';
import { type MailServer, readMail, startMailServer } from '#test/support/servers/mail-server.ts';

const FROM = 'Cover Catalogue <no-reply@covers.example>';
const DAY = 24 * 3600;

describe.each(KINDS)('the outbox in a %s database', async (kind) => {
  const database = await openKeysDatabase(kind);
  let server: MailServer;
  beforeEach(async () => {
    server = await startMailServer();
    await database.run('DELETE FROM mail_outbox');
  });
  afterEach(() => server.stop());

  const mailer = () => makeMailer({ smtpUrl: server.url, folder: '/nowhere', from: FROM });
  const send = (seconds = 0) => sendDueMails(database, mailer(), later(seconds));
  const enqueue = (recipient: string, subject = 'News', seconds = 0) =>
    enqueueMail(database, { recipient, subject, body: 'Text.\n', at: later(seconds) });
  const subjects = () => server.mails.map(({ source }) => /^Subject: (.*)$/m.exec(source)?.[1]);
  /** Sends mails until none is due at that time. */
  const sendAll = async (seconds: number) => {
    for (let rounds = 0; rounds < 100; rounds++) {
      const { sent, failed } = await send(seconds);
      if (sent + failed === 0) return;
    }
    throw new Error('There are still mails due.');
  };

  it('sends a mail once, to its recipient, from the configured sender', async () => {
    const owner = await database.addOwner();
    const id = await database.keyIn('pending', owner.id);
    await approveRequest(database, id, { limit: 60, ...REVIEW });
    expect(await send()).toEqual({ sent: 1, failed: 0 });
    expect(await send(3600)).toEqual({ sent: 0, failed: 0 });
    expect(server.mails).toHaveLength(1);
    const [mail] = server.mails;
    expect(mail).toMatchObject({ from: 'no-reply@covers.example', to: [owner.email] });
    const text = readMail(mail?.source as string);
    expect(text).toContain(`From: ${FROM}\n`);
    expect(text).toContain(`To: ${owner.email}\n`);
    expect(text).toContain('Auto-Submitted: auto-generated\n');
    expect(text).toContain('Date: Wed, 04 Mar 2026 05:06:07 +0000\n');
    expect(await listMails(database)).toEqual([]);
    // A sent mail is kept as a record, without its text.
    expect(await database.rows('SELECT body, sent_at, key_id FROM mail_outbox')).toEqual([
      ['', expect.stringMatching(/^2026-03-04 05:06:\d\d$/), id],
    ]);
  });

  it('sends each mail once when several programs send at the same time', async () => {
    for (let i = 0; i < 30; i++) await enqueue(`n${i}@covers.example`, `news ${i}`);
    const counts = await Promise.all([1, 2, 3, 4].map(() => send()));
    expect(counts.reduce((sum, { sent }) => sum + sent, 0)).toBe(30);
    expect(new Set(subjects()).size).toBe(30);
    expect(server.mails).toHaveLength(30);
  });

  it('removes mails 30 days after they were sent, or were queued and never sent', async () => {
    await enqueue('sent@covers.example', 'sent', 2 * DAY);
    await sendAll(2 * DAY);
    await enqueue('nobody', 'never');
    await enqueue('waiting@covers.example', 'waiting');
    // What is old is measured from the newest mail as well.
    await enqueue('a@covers.example', 'newest', 40 * DAY);
    await sendAll(40 * DAY);
    await enqueue('b@covers.example', 'newest', 40 * DAY);
    const kept = async (seconds: number) => {
      await removeOldMails(database, later(seconds));
      const rows = await database.rows(
        "SELECT subject FROM mail_outbox WHERE subject <> 'newest' ORDER BY id",
      );
      return rows.map(([subject]) => subject);
    };
    expect(await kept(30 * DAY)).toEqual(['sent', 'never', 'waiting']);
    expect(await kept(30 * DAY + 1)).toEqual(['sent', 'waiting']);
    expect(await kept(32 * DAY)).toEqual(['sent', 'waiting']);
    expect(await kept(32 * DAY + 60)).toEqual(['waiting']);
  });

  // The rest does not depend on the database.
  if (kind === 'mysql') return;

  it('keeps mails while the server is down, and delivers each once when it is back', async () => {
    const names = ['first', 'second', 'third'];
    for (const name of names) await enqueue(`${name}@covers.example`, name);
    await server.stop();
    // After one failed connection the other mails are not tried.
    expect(await send()).toEqual({ sent: 0, failed: 1 });
    expect(await listMails(database)).toEqual([
      expect.objectContaining({
        attempts: 1,
        next_attempt_at: '2026-03-04 05:06:17',
        sent_at: null,
        last_error: expect.stringContaining('ECONNREFUSED'),
      }),
      expect.objectContaining({ attempts: 0 }),
      expect.objectContaining({ attempts: 0 }),
    ]);
    for (let seconds = 1; seconds < 600; seconds += 20) await send(seconds);
    expect(server.mails).toEqual([]);
    await server.start();
    await sendAll(DAY);
    expect(subjects().toSorted()).toEqual(names);
    expect(new Set(server.mails.map(({ messageId }) => messageId)).size).toBe(3);
    expect(await listMails(database)).toEqual([]);
    await sendAll(2 * DAY);
    expect(server.mails).toHaveLength(3);
  });

  it('waits longer after each attempt, at most an hour, and gives up after five days', async () => {
    await enqueue('a@covers.example');
    await server.stop();
    const waits: number[] = [];
    let now = 0;
    for (;;) {
      expect(await send(now)).toEqual({ sent: 0, failed: 1 });
      const [mail] = await listMails(database);
      if (mail?.next_attempt_at == null) break;
      const next = (Date.parse(`${mail.next_attempt_at.replace(' ', 'T')}Z`) - AT.getTime()) / 1000;
      expect(await send(next - 1)).toEqual({ sent: 0, failed: 0 });
      waits.push(next - now);
      now = next;
    }
    expect(waits.slice(0, 10)).toEqual([10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600]);
    expect(Math.max(...waits)).toBe(3600);
    expect(now).toBeGreaterThan(4.9 * DAY);
    expect(now).toBeLessThanOrEqual(5 * DAY);
    // An operator can still have it sent once the server works again.
    await server.start();
    await sendAll(6 * DAY);
    expect(server.mails).toEqual([]);
    await retryAll(database, later(6 * DAY));
    await sendAll(6 * DAY);
    expect(server.mails).toHaveLength(1);
  });

  it('sends other mails if the server refuses one, and tries again what it refused for now', async () => {
    const recipient = (to: string) => (to.startsWith('full') ? '452 mailbox full' : undefined);
    server.refuse({ recipient });
    for (const name of ['full', 'here', 'full-too', 'there'])
      await enqueue(`${name}@covers.example`, name);
    expect(await send()).toEqual({ sent: 2, failed: 2 });
    expect(subjects()).toEqual(['here', 'there']);
    const last_error = expect.stringContaining('mailbox full');
    expect(await listMails(database)).toEqual([
      expect.objectContaining({ subject: 'full', last_error }),
      expect.objectContaining({ subject: 'full-too', last_error }),
    ]);
    server.refuse({});
    await sendAll(60);
    expect(subjects()).toEqual(['here', 'there', 'full', 'full-too']);
  });

  it.each([
    ['a recipient', { recipient: () => '550 no such mailbox' }],
    ['a mail', { data: '554 spam' }],
  ])('gives a mail up at once if the server refuses %s with 5xx', async (_, refusal) => {
    await enqueue('gone@covers.example', 'gone');
    server.refuse(refusal);
    expect(await send()).toEqual({ sent: 0, failed: 1 });
    const last_error = expect.stringMatching(/no such mailbox|spam/);
    expect(await listMails(database)).toMatchObject([{ next_attempt_at: null, last_error }]);
    expect(await listGivenUp(database, 9)).toMatchObject([{ subject: 'gone', last_error }]);
    server.refuse({});
    await sendAll(10 * DAY);
    expect(server.mails).toEqual([]);
    // An operator can still have it sent.
    await retryAll(database, later(10 * DAY));
    await sendAll(10 * DAY);
    expect(subjects()).toEqual(['gone']);
  });

  it.each([
    ['the sender', { sender: '550 who are you' }],
    ['the session', { recipient: () => '421 closing' }],
  ])(
    'tries a mail again if the server refuses %s, which concerns all mails',
    async (_, refusal) => {
      await enqueue('a@covers.example');
      server.refuse(refusal);
      await send();
      server.refuse({});
      await sendAll(60);
      expect(server.mails).toHaveLength(1);
    },
  );

  it.each([
    ['refuses the whole mail for now', { data: '451 try again later' }],
    ['closes its service', { recipient: () => '421 closing' }],
  ])('tries again after one attempt in which the server %s', async (_, refusal) => {
    for (const name of ['a', 'b', 'c']) await enqueue(`${name}@covers.example`);
    server.refuse(refusal);
    const { sent, failed } = await send();
    // A service that closes refuses the other mails as well.
    expect([sent, failed]).toEqual([0, 'recipient' in refusal ? 1 : 3]);
    const said = Object.values(refusal).map((each) => (typeof each === 'string' ? each : each()));
    expect((await listMails(database))[0]?.last_error).toContain(said[0]?.slice(4));
    server.refuse({});
    await sendAll(60);
    expect(server.mails).toHaveLength(3);
  });

  it('sends a mail again with the same id if the sending program died before recording it', async () => {
    await enqueue('a@covers.example');
    await send();
    await database.run(
      "UPDATE mail_outbox SET sent_at = NULL, body = 'Text.', attempts = 1, next_attempt_at = '2026-03-04 05:21:07'",
    );
    expect(await send(899)).toEqual({ sent: 0, failed: 0 });
    expect(await send(900)).toEqual({ sent: 1, failed: 0 });
    const [first, again] = server.mails.map(({ messageId }) => messageId);
    expect(server.mails).toHaveLength(2);
    expect(again).toBe(first);
  });

  it('never sends an expired mail', async () => {
    const mail = { recipient: 'a@covers.example', subject: 'Link', body: 'secret link' };
    await enqueueMail(database, { ...mail, at: AT, expiresAt: later(900) });
    await server.stop();
    await send();
    await server.start();
    await retryAll(database, later(901));
    await sendAll(901);
    expect(server.mails).toEqual([]);
    expect(await database.rows('SELECT body, last_error FROM mail_outbox')).toEqual([
      ['', 'It expired before it was sent.'],
    ]);
    await retryAll(database, later(902));
    expect(await send(902)).toEqual({ sent: 0, failed: 0 });
  });

  it.each([
    'a@covers.example\r\nBcc: victim@covers.example',
    'a@covers.example, victim@covers.example',
    'a@covers.example;victim@covers.example',
    'Victim <victim@covers.example>',
    '"a\r\nRCPT TO:<victim@covers.example>"@covers.example',
    'list: victim@covers.example;',
    'a@covers.example\u0000',
    'a b@covers.example',
    'nobody',
    '',
    '@covers.example',
    `a@${'x'.repeat(300)}.example`,
  ])(
    'sends nothing to an account with the address %j, whose keys still change state',
    async (email) => {
      const owner = await database.addOwner({ email });
      const id = await database.keyIn('pending', owner.id);
      await approveRequest(database, id, { limit: 60, ...REVIEW });
      await enqueue('fine@covers.example', 'Fine');
      await sendAll(DAY);
      expect(server.mails.flatMap(({ to }) => to)).toEqual(['fine@covers.example']);
      expect(await listMails(database)).toEqual([
        expect.objectContaining({
          key_id: id,
          last_error: 'The recipient is not an e-mail address.',
        }),
      ]);
    },
  );

  it('without a mail server, writes each mail to a file, up to a hundred at a time, the oldest first', async () => {
    const folder = makeFolder();
    const toFiles = makeMailer({ smtpUrl: '', folder, from: FROM });
    for (let i = 0; i < 120; i++) await enqueue('a@covers.example', `${i}`, 120 - i);
    expect(await sendDueMails(database, toFiles, later(200))).toEqual({ sent: 100, failed: 0 });
    const left = Array.from({ length: 20 }, (_, i) => `${i}`);
    expect((await listMails(database)).map(({ subject }) => subject)).toEqual(left);
    expect(await sendDueMails(database, toFiles, later(200))).toEqual({ sent: 20, failed: 0 });
    expect(readdirSync(folder)).toHaveLength(120);
  });
});
