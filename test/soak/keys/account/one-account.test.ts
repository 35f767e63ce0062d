/**
 * What one signed-in account can do to the pages for everybody else. It requests and withdraws keys in a
 * loop, loads its page many times at once, and asks for it on connections that it does not read. All of it
 * goes through the proxy, with many pending requests of others in the database.
 */
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Database } from '../../../../database/database.ts';
import { openDatabase } from '../../../../database/open.ts';
import { loadCatalogue } from '../../../../demo/catalogue/load.ts';
import { sampleCatalogue } from '../../../../demo/catalogue/sample.ts';
import { KEYS } from '../../../keys/account/account-people.ts';
import {
  makeAccounts,
  makeVisitor,
  PEOPLE,
  signIn,
  type Visitor,
} from '../../../support/account.ts';
import { type Kind, makeDatabase } from '../../../support/databases.ts';
import { makeFolder } from '../../../support/product.ts';
import { openSocket } from '../../../support/servers/sockets.ts';
import { IS_FULL, printFigure, rounds } from '../../rounds.ts';
import { type RunningSite, startSite } from '../start-site.ts';

const PENDING = IS_FULL ? 20_000 : 200;
const CHANGES = rounds(30, 500);
const READS = rounds(40, 1_000);
const READERS = 20;
const SLOW_READERS = IS_FULL ? 60 : 5;
/** How long the slow readers stay, unless they are cut off. */
const SLOW_MS = IS_FULL ? 50_000 : 0;
/** The pause between two pages that another visitor loads during the attack. */
const STRANGER_EVERY_MS = 250;
/** Figures of the full form. */
const LONGEST_WAIT_MS = 1_000;
const MOST_MEGABYTES = 300;
/** In bytes. */
const LARGEST_PAGE = 100_000;

const PURPOSE = 'x'.repeat(1_000);

// The full form is that of a production server.
const kind: Kind = IS_FULL ? 'mysql' : 'sqlite';
let database: Database;
let site: RunningSite;
let visitor: Visitor;

beforeAll(async () => {
  const url = await makeDatabase(kind);
  database = await openDatabase(url);
  await loadCatalogue(database, sampleCatalogue());
  await makeAccounts(url);
  await database.transaction(async ({ run }) => {
    for (let i = 0; i < PENDING; i++) {
      await run(
        `INSERT INTO api_keys (account_id, purpose, website_url, state, requested_at)
          VALUES (?, ?, 'https://a.example', 'pending', '2026-01-01 00:00:00')`,
        [PEOPLE.other.id, PURPOSE],
      );
    }
  });
  const mailFolder = path.join(makeFolder(), 'mail');
  site = await startSite(url, { MAIL_FOLDER: mailFolder });
  visitor = makeVisitor(site.proxy.url);
  await signIn(visitor, PEOPLE.owner.email, mailFolder);
}, 600_000);

afterAll(async () => {
  await site.stop();
  await database.close();
});

const bytesOfMail = async () => {
  const sql = 'SELECT COUNT(*), COALESCE(SUM(LENGTH(body)), 0) FROM mail_outbox';
  const [[count, bytes] = []] = await database.rows(sql);
  return { count: Number(count), bytes: Number(bytes) };
};
const countOf = async (table: string) =>
  Number((await database.rows(`SELECT COUNT(*) FROM ${table}`))[0]?.[0]);

function megabytesOf(pid: number | undefined): number {
  const [, kilobytes] =
    /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) / 1024;
}

/** Does the work of the account while a stranger loads a page again and again. */
async function besideStranger(name: string, work: () => Promise<unknown>): Promise<void> {
  let isDone = false;
  let longest = 0;
  let loads = 0;
  let megabytes = 0;
  const stranger = async () => {
    while (!isDone) {
      const started = performance.now();
      const { status } = await makeVisitor(site.proxy.url).get('/account/sign-in');
      expect(status).toBe(200);
      longest = Math.max(longest, performance.now() - started);
      loads++;
      megabytes = Math.max(megabytes, megabytesOf(site.pages.child.pid));
      await pause(STRANGER_EVERY_MS);
    }
  };
  const loading = stranger();
  await work().finally(() => {
    isDone = true;
  });
  await loading;
  printFigure(
    'One account keeps nobody from the pages',
    `${name}: a stranger loaded a page ${loads} times and waited at most ${longest.toFixed(0)} ms; the pages took at most ${megabytes.toFixed(0)} MB`,
  );
  if (!IS_FULL) return;
  expect(longest).toBeLessThanOrEqual(LONGEST_WAIT_MS);
  expect(megabytes).toBeLessThanOrEqual(MOST_MEGABYTES);
}

describe('one account', () => {
  test(`gets 429 for most of ${CHANGES} requests and withdrawals, which leave few rows`, async () => {
    const [keys, events, mails] = [
      await countOf('api_keys'),
      await countOf('key_events'),
      await bytesOfMail(),
    ];
    const statuses = new Map<number, number>();
    const post = async (target: string, fields: Record<string, string>) => {
      const { status, headers } = await visitor.post(target, fields);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status === 429) expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    };
    await besideStranger('requests and withdrawals', async () => {
      let page = await visitor.get(KEYS);
      for (let i = 0; i < CHANGES; i++) {
        const [, pending] = /action="([^"]+\/withdraw)"/.exec(page.text) ?? [];
        if (pending === undefined)
          await post(KEYS, { purpose: PURPOSE, website_url: 'https://a.example' });
        else await post(pending, {});
        page = await visitor.get(KEYS);
      }
      expect(page.text.length).toBeLessThan(LARGEST_PAGE);
    });
    expect(statuses.get(429)).toBeGreaterThanOrEqual(CHANGES - 20);
    expect((await countOf('api_keys')) - keys).toBeLessThanOrEqual(20);
    expect((await countOf('key_events')) - events).toBeLessThanOrEqual(20);
    const { count, bytes } = await bytesOfMail();
    expect(count - mails.count).toBeLessThanOrEqual(20);
    expect(bytes - mails.bytes).toBeLessThan(100_000);
  });

  test(`loads its page ${READS} times, ${READERS} at once`, async () => {
    await besideStranger(`${READERS} readers at once`, async () => {
      let left = READS;
      const read = async () => {
        while (left-- > 0) {
          const { status, text } = await visitor.get(KEYS);
          expect(status).toBe(200);
          expect(text.length).toBeLessThan(LARGEST_PAGE);
        }
      };
      await Promise.all(Array.from({ length: READERS }, read));
    });
  });

  test(`asks for its page on ${SLOW_READERS} connections that it does not read`, async () => {
    const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const request = `GET ${KEYS} HTTP/1.1\r\nHost: x\r\nCookie: ${cookie}\r\n\r\n`;
    await besideStranger(`${SLOW_READERS} slow readers`, async () => {
      const sockets: Socket[] = [];
      for (let i = 0; i < SLOW_READERS; i++) {
        const socket = await openSocket(site.proxy.port);
        socket.on('error', () => {}).pause();
        socket.write(request.repeat(20));
        sockets.push(socket);
      }
      await pause(SLOW_MS);
      for (const socket of sockets) socket.destroy();
    });
  });
});
