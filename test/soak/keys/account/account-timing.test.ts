/**
 * A visitor who requests sign-in links cannot find out whether an address has an account, neither from
 * the responses nor from their times, also while the database is busy and in bursts.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Database } from '../../../../database/database.ts';
import { openDatabase } from '../../../../database/open.ts';
import {
  linksTo,
  makeAccounts,
  makeVisitor,
  type RunningPages,
  startPages,
  type Visitor,
} from '../../../support/account.ts';
import { KINDS, makeDatabase } from '../../../support/databases.ts';
import { makeFolder } from '../../../support/product.ts';
import { until } from '../../support/until.ts';

const BURSTS = 40;
const FLOOD_ACCOUNTS = 40;
/** As many as a mailbox may get. */
const AT_ONCE = 5;
/** Samples of the same distribution give 0.5 with a standard deviation of 0.065. */
const HIGHEST_SHARE = 0.75;

describe.each(KINDS)('a request for a sign-in link on %s', (kind) => {
  let pages: RunningPages;
  let database: Database;
  let visitor: Visitor;
  const mailFolder = makeFolder();
  const known = (i: number) => `known-${i}@covers.example`;
  const unknown = (i: number) => `nobody-${i}@covers.example`;

  beforeAll(async () => {
    const databaseUrl = await makeDatabase(kind);
    await makeAccounts(databaseUrl);
    database = await openDatabase(databaseUrl);
    for (let i = 0; i < BURSTS + 10 + FLOOD_ACCOUNTS; i++) {
      await database.run(
        "INSERT INTO accounts (id, email, name, role) VALUES (?, ?, 'K', 'user')",
        [...[100 + i, known(i)]],
      );
    }
    pages = await startPages(databaseUrl, { MAIL_FOLDER: mailFolder });
    visitor = makeVisitor(pages.url);
    await visitor.get('/account/sign-in');
  });
  afterAll(async () => {
    await database.close();
    await pages.stop();
  });

  let clients = 0;
  /** A client that has not requested anything. */
  const newClient = () => `10.${++clients >> 16}.${(clients >> 8) & 255}.${clients & 255}`;
  const requestLink = (email: string, client = newClient()) =>
    visitor.post('/account/sign-in', { email }, { 'x-forwarded-for': client });
  /** Sends several requests for one address. @returns milliseconds until the last response */
  const burst = async (email: string): Promise<number> => {
    const started = performance.now();
    await Promise.all(Array.from({ length: AT_ONCE }, () => requestLink(email)));
    return performance.now() - started;
  };

  test('gets the same status, text and header fields for a known and an unknown address', async () => {
    const [a, b] = [await requestLink(known(BURSTS)), await requestLink(unknown(1000))];
    const fieldsOf = ({ headers }: typeof a) => [...headers].filter(([name]) => name !== 'date');
    expect([a.status, a.text, fieldsOf(a)]).toEqual([b.status, b.text, fieldsOf(b)]);
    expect(a.status).toBe(200);
  });

  test('is one of at most five for a mailbox, which is the same for a known and an unknown address', async () => {
    const [first, second] = [known(BURSTS + 5), unknown(1003)];
    for (let i = 0; i < 5; i++) {
      for (const email of [first, second]) expect((await requestLink(email)).status).toBe(200);
    }
    const [a, b] = [await requestLink(first.toUpperCase()), await requestLink(second)];
    expect([a.status, a.text]).toEqual([429, b.text]);
    expect(a.text).toContain('Too many links were requested for this address. Ask for the next');
    for (const { headers } of [a, b]) {
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(800);
    }
    expect((await requestLink(unknown(1004))).status).toBe(200);
    await until(() => linksTo(first, mailFolder).length === 5);
  });

  test.each([
    ['an IPv4 address', ['192.0.2.1'], '192.0.2.2'],
    ['an IPv6 network', ['2001:db8::1', '2001:db8::ff:2'], '2001:db8:0:1::1'],
  ])('is one of at most twenty from %s, for any mailboxes', async (name, from, other) => {
    const ask = (i: number, client: string) => requestLink(`${i}-${name.length}@x.example`, client);
    for (let i = 0; i < 20; i++) {
      expect((await ask(i, from[i % from.length])).status).toBe(200);
    }
    const [a, b] = [
      await requestLink(known(BURSTS + 6), from[0]),
      await requestLink(unknown(1005), from[0]),
    ];
    expect([a.status, a.text]).toEqual([429, b.text]);
    expect(a.text).toContain('Too many links were requested from your network.');
    expect((await ask(20, other)).status).toBe(200);
  });

  /** Holds the locks of accounts' links (on SQLite, of all writes). @returns their release */
  const holdLocks = async (...accountIds: number[]): Promise<() => Promise<void>> => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const { promise: held, resolve: hold } = Promise.withResolvers<void>();
    for (const id of accountIds) {
      await database.run('INSERT INTO request_turns VALUES (?, 0)', [id]);
    }
    const other = database.transaction(async (writer) => {
      for (const id of accountIds) {
        await writer.run('UPDATE request_turns SET turns = 1 WHERE account_id = ?', [id]);
      }
      hold();
      await released;
    });
    await held;
    return () => {
      release();
      return other;
    };
  };

  test('is answered while another program holds the locks, and the link is sent later', async () => {
    const email = known(BURSTS + 1);
    const release = await holdLocks(100 + BURSTS + 1);
    const late = pause(3_000, 'too late' as const, { ref: false });
    const answered = Promise.all([
      burst(email),
      burst(unknown(1001)),
      visitor.get('/account/sign-in'),
    ]);
    expect(await Promise.race([answered.then(() => 'answered'), late])).toBe('answered');
    await pause(1_500);
    expect(linksTo(email, mailFolder)).toEqual([]);
    await release();
    await until(() => linksTo(email, mailFolder).length === 5);
  });

  test('gets 503 during a flood, for a known and for an unknown address', async () => {
    const release = await holdLocks(100 + BURSTS + 2, 100 + BURSTS + 7);
    // As many as are processed at once. They wait for the locks, and all others wait for them.
    for (let i = 0; i < 4; i++) {
      for (const account of [2, 7]) await requestLink(known(BURSTS + account));
    }
    await pause(1_500);
    const statuses: number[] = [];
    let mailboxes = 2000;
    const client = async () => {
      while (!statuses.includes(503)) {
        // On SQLite, whoever waits for the lock gives up after ten seconds, and others must take its place.
        const i = mailboxes++ - 2000;
        const email = i % 40 ? unknown(2000 + i) : known(BURSTS + 10 + ((i / 40) % FLOOD_ACCOUNTS));
        statuses.push((await requestLink(email)).status);
      }
    };
    await Promise.all([1, 2, 3, 4].map(client));
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(900);
    const [a, b] = [await requestLink(known(BURSTS + 3)), await requestLink(unknown(1006))];
    expect([a.status, a.text]).toEqual([503, b.text]);
    await release();
    await until(async () => (await requestLink(unknown(mailboxes++))).status === 200);
  });

  test('takes as long for an address with an account as for one without, in bursts', async () => {
    const times: { known: number[]; unknown: number[] } = { known: [], unknown: [] };
    for (let i = 0; i < BURSTS; i++) {
      // The order alternates, so that each kind follows the other equally often.
      if (i % 2) times.known.push(await burst(known(i)));
      times.unknown.push(await burst(unknown(i)));
      if (i % 2 === 0) times.known.push(await burst(known(i)));
    }
    // The share of pairs in which the response for the known address took longer.
    const pairs = times.known.flatMap((a) => times.unknown.map((b) => (a > b ? 1 : 0) as number));
    const share = pairs.reduce((sum, isLater) => sum + isLater, 0) / pairs.length;
    expect(share).toBeLessThan(HIGHEST_SHARE);
    // The requests were processed completely: the links are mailed.
    await until(() => linksTo(known(BURSTS - 1), mailFolder).length === 5);
  });

  test('is processed before the pages end', async () => {
    const email = known(BURSTS + 4);
    await requestLink(email);
    expect(await pages.stop()).toBe(0);
    const queued = 'SELECT recipient FROM mail_outbox WHERE recipient = ?';
    expect(await database.rows(queued, [email])).toEqual([[email]]);
  });
});
