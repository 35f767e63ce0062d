/**
 * Requests for sign-in links. A visitor cannot find out whether an address has an account, neither from the
 * response nor from its time: the response waits for nothing that depends on the address. No link is lost
 * while the database is away.
 */
import { afterAll, describe, expect, test } from 'vitest';
import { startMailWorker } from '#keys/account/mail-worker/start-mail-worker.ts';
import { DatabaseLockedError } from '#lib/database/database.ts';
import { openDatabase } from '#lib/database/open.ts';
import { intercept } from '#test/keys/keys-database.ts';
import {
  linksTo,
  mailedLink,
  makeAccounts,
  makeVisitor,
  openPages,
  PEOPLE,
  type Visitor,
} from '#test/support/account.ts';
import { makeFolder } from '#test/support/product.ts';

const KNOWN = PEOPLE.owner.email;
const UNKNOWN = 'nobody@covers.example';

let clients = 0;
const requestLink = (visitor: Visitor, email: string, client = `10.0.0.${++clients}`) =>
  visitor.post('/account/sign-in', { email }, { 'x-forwarded-for': client });

describe('the response to a request', async () => {
  const statements: unknown[] = [];
  const passedOn: string[] = [];
  let isFull = false;
  const { url } = await openPages(
    await makeAccounts(),
    { MAIL_FOLDER: makeFolder() },
    {
      openDatabase: async (url) =>
        intercept(await openDatabase(url), (...statement) => void statements.push(statement)),
      startMails: async () => ({
        requestLink(email) {
          if (!isFull) passedOn.push(email);
          return !isFull;
        },
        counts: () => ({ links: 0, sent: 0, failed: 0 }),
        stop: async () => true,
      }),
    },
  );
  const visitor = makeVisitor(url);

  /** Requests a link. @returns all that the visitor sees, and what the database is asked for it */
  async function ask(email: string) {
    statements.length = 0;
    const { status, text, headers } = await requestLink(visitor, email);
    const fields = [...headers].filter(([name]) => name !== 'date' && name !== 'retry-after');
    return { status, text, fields, statements: [...statements] };
  }

  test('is the same for a known and an unknown address, and waits for no statement', async () => {
    const known = await ask(KNOWN);
    expect(known).toEqual(await ask(UNKNOWN));
    expect(known.status).toBe(200);
    expect(passedOn).toEqual([KNOWN, UNKNOWN]);
    expect(known.statements).toEqual([]);
  });

  test('is 503 for both while too many requests wait', async () => {
    isFull = true;
    const known = await ask(KNOWN);
    expect(known).toEqual(await ask(UNKNOWN));
    expect(known.status).toBe(503);
    isFull = false;
    expect((await ask(UNKNOWN)).status).toBe(200);
  });

  test.each([
    ['an IPv4 address', ['192.0.2.1'], '192.0.2.2'],
    ['an IPv6 network', ['2001:db8::1', '2001:db8::ff:2'], '2001:db8:0:1::1'],
  ])('is 429 after twenty requests from %s, for any mailboxes', async (name, from, other) => {
    const from20 = (i: number, client: string) =>
      requestLink(visitor, `${i}-${name.length}@x.example`, client);
    for (let i = 0; i < 20; i++) {
      expect((await from20(i, from[i % from.length] as string)).status).toBe(200);
    }
    const [a, b] = [
      await requestLink(visitor, PEOPLE.moderator.email, from[0]),
      await requestLink(visitor, 'nobody-2@covers.example', from[0]),
    ];
    expect([a.status, a.text]).toEqual([429, b.text]);
    expect(a.text).toContain('Too many links were requested from your network.');
    expect((await from20(20, other)).status).toBe(200);
  });
});

test('requests wait in another thread while another program holds the locks, at most 1,000, and are done before it ends', async () => {
  const databaseUrl = await makeAccounts();
  const database = await openDatabase(databaseUrl);
  const mail = { smtpUrl: '', folder: makeFolder(), from: 'a@covers.example' };
  const publicUrl = 'https://covers.example';
  let failure: Error | undefined;
  const worker = await startMailWorker(
    { databaseUrl, mail, publicUrl, logLevel: 'silent' },
    (error) => {
      failure = error;
    },
  );
  await database.transaction(async () => {
    for (let i = 0; i < 1_000; i++) expect(worker.requestLink(KNOWN)).toBe(true);
    for (const email of [KNOWN, UNKNOWN]) expect(worker.requestLink(email)).toBe(false);
    expect(worker.counts().links).toBe(1_000);
  });
  expect(await worker.stop(60_000)).toBe(true);
  expect([worker.counts().links, failure]).toEqual([0, undefined]);
  expect(await database.rows('SELECT DISTINCT recipient FROM mail_outbox')).toEqual([[KNOWN]]);
  await database.close();
});

describe('while the database', async () => {
  /** Set to what the database does with every statement. */
  let trouble: 'none' | 'gone' | 'locked' | 'silent' = 'none';
  let answer = () => {};
  const mailFolder = makeFolder();

  /** A database that can be gone, or not answer until `answer` is called. */
  const openFaulty = async (url: string) =>
    intercept(await openDatabase(url), async (...[sql]) => {
      if (trouble === 'gone') throw new Error('The database is gone.');
      if (trouble === 'locked' && sql !== 'SELECT 1')
        throw new DatabaseLockedError('It is locked.');
      if (trouble !== 'silent') return;
      await new Promise<void>((resolve) => {
        answer = resolve;
      });
    });

  const pages = await openPages(
    await makeAccounts(),
    { MAIL_FOLDER: mailFolder },
    { openDatabase: openFaulty, longestScrapeMs: 0 },
  );
  const visitor = makeVisitor(pages.url);
  afterAll(() => {
    trouble = 'none';
  });

  test('is away, it is logged once at its start and end, and every link arrives', async () => {
    for (const [round, kind] of [
      [1, 'gone'],
      [2, 'locked'],
    ] as const) {
      trouble = kind;
      expect((await requestLink(visitor, KNOWN)).status).toBe(200);
      await pages.sendMails();
      await pages.sendMails();
      trouble = 'none';
      await pages.sendMails();
      await mailedLink(KNOWN, mailFolder, round);
    }
    expect(linksTo(KNOWN, mailFolder)).toHaveLength(2);
    const lines = pages
      .log()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    const wait = (why: string) => [50, `E-mails wait until the database is back: ${why}`];
    const back = [30, 'the database is back; e-mails are sent again'];
    const sent = [30, 'mails are sent'];
    expect(lines.map(({ level, msg }) => [level, msg])).toEqual([
      ...[wait('The database is gone.'), sent, back],
      ...[wait('It is locked.'), sent, back],
    ]);
    expect(pages.log()).not.toMatch(/ {4}at |"stack"|"err"/);
  });

  test('does not answer, the metrics do, and say so', async () => {
    const ask = (target: string) => fetch(`${pages.adminUrl}${target}`);
    const readUp = async () =>
      /^account_database_up (\d)/m.exec(await (await ask('/metrics')).text())?.[1];
    expect(await readUp()).toBe('1');
    trouble = 'silent';
    expect(await Promise.all([readUp(), readUp()])).toEqual(['0', '0']);
    expect((await ask('/readyz')).status).toBe(503);
    expect((await ask('/healthz')).status).toBe(200);
    trouble = 'none';
    answer();
    await readUp();
    expect(await readUp()).toBe('1');
    expect((await ask('/readyz')).status).toBe(200);
  });
});
