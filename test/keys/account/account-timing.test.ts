/**
 * A visitor who requests sign-in links cannot find out whether an address has an account, neither from
 * the responses nor from their times, also while the database is busy and in bursts.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Database } from '../../../database/database.ts';
import { openDatabase } from '../../../database/open.ts';
import {
  linksTo,
  makeAccounts,
  makeVisitor,
  type RunningPages,
  startPages,
  type Visitor,
} from '../../support/account.ts';
import { KINDS, makeDatabase } from '../../support/databases.ts';
import { makeFolder, until } from '../../support/product.ts';

const BURSTS = 40;
const AT_ONCE = 8;
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
    for (let i = 0; i < BURSTS + 10; i++) {
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

  const requestLink = (email: string) => visitor.post('/account/sign-in', { email });
  /** Sends several requests for one address. @returns milliseconds until the last response */
  const burst = async (email: string): Promise<number> => {
    const started = performance.now();
    await Promise.all(Array.from({ length: AT_ONCE }, () => requestLink(email)));
    return performance.now() - started;
  };

  test('gets the same status, text and header fields for a known and an unknown address', async () => {
    const [a, b] = [await requestLink(known(BURSTS)), await requestLink(unknown(0))];
    const fieldsOf = ({ headers }: typeof a) => [...headers].filter(([name]) => name !== 'date');
    expect([a.status, a.text, fieldsOf(a)]).toEqual([b.status, b.text, fieldsOf(b)]);
    expect(a.status).toBe(200);
  });

  /** Holds the lock of an account's links (on SQLite, of all writes). @returns its release */
  const holdLock = async (accountId: number): Promise<() => Promise<void>> => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const { promise: held, resolve: hold } = Promise.withResolvers<void>();
    await database.run('INSERT INTO request_turns VALUES (?, 0)', [accountId]);
    const other = database.transaction(async (writer) => {
      await writer.run('UPDATE request_turns SET turns = 1 WHERE account_id = ?', [accountId]);
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
    const release = await holdLock(100 + BURSTS + 1);
    const late = pause(3_000, 'too late' as const, { ref: false });
    const answered = Promise.all([
      burst(email),
      burst(unknown(1)),
      visitor.get('/account/sign-in'),
    ]);
    expect(await Promise.race([answered.then(() => 'answered'), late])).toBe('answered');
    await pause(1_500);
    expect(linksTo(email, mailFolder)).toEqual([]);
    await release();
    await until(() => linksTo(email, mailFolder).length === 5);
  });

  test('gets 503 during a flood, for a known and for an unknown address', {
    timeout: 60_000,
  }, async () => {
    const release = await holdLock(100 + BURSTS + 2);
    // As many as are processed at once. They wait for the lock, and all others wait for them.
    for (let i = 0; i < 8; i++) await requestLink(known(BURSTS + 2));
    await pause(1_500);
    const statuses: number[] = [];
    const client = async () => {
      while (!statuses.includes(503)) statuses.push((await requestLink(unknown(2))).status);
    };
    await Promise.all([1, 2, 3, 4].map(client));
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(900);
    const [a, b] = [await requestLink(known(BURSTS + 3)), await requestLink(unknown(2))];
    expect([a.status, a.text]).toEqual([503, b.text]);
    await release();
    await until(async () => (await requestLink(unknown(2))).status === 200);
  });

  test('takes as long for an address with an account as for one without, in bursts', {
    timeout: 90_000,
  }, async () => {
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
