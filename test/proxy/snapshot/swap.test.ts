/** Generations are swapped and removed under load: no request fails, and no response mixes two of them. */
import { readlinkSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { Pool } from 'undici';
import { expect, test } from 'vitest';
import { CURRENT, GENERATIONS, MANIFEST } from '../../../format/layout.ts';
import { openSnapshots } from '../../../proxy/snapshot/snapshots.ts';
import { KEPT_GENERATIONS } from '../../../store/prune.ts';
import { makeSqlite } from '../../catalogue/snapshots.ts';
import {
  generate,
  makeFolder,
  send,
  startProxy,
  testKey,
  until,
  writeKeys,
} from '../../support/product.ts';
import { printFigure, rounds } from '../../support/rounds.ts';
import { makeGenerations, markedCatalogue, pointTo, requestById } from './marked-generations.ts';

const SWAPS = rounds(10, 100);
const CLIENTS = 14;
const CRAWLERS = 2;
const GAMES = 400;
const SEARCH_PAGES = Array.from(
  { length: GAMES / 50 },
  (_, i) => `/search?per_page=50&page=${i + 1}`,
);
const key = testKey(1);
const headers = { 'x-api-key': key.key };

test(`${SWAPS} swaps under load fail no request and mix no response`, {
  timeout: 600_000,
}, async () => {
  const { dir, ids } = await makeGenerations(GAMES, ['first', 'second'], key);
  const expected = new Map<string, ReadonlyMap<string, string>>();
  for (const id of ids) expected.set(id, await readAll(dir, id));
  const targets = [...(expected.get(ids[0])?.keys() ?? [])];
  for (const target of targets) {
    // Otherwise a mixed response would not be detected.
    expect(expected.get(ids[0])?.get(target)).not.toBe(expected.get(ids[1])?.get(target));
  }
  const proxy = await startProxy(dir);
  const pool = new Pool(proxy.url, { connections: CLIENTS + CRAWLERS });
  let isDone = false;
  let requests = 0;
  let crawls = 0;
  const seen = new Set<string>();
  const request = async (target: string, extra: Record<string, string> = {}) => {
    const reply = await pool.request({
      method: 'GET',
      path: `/api/v1${target}`,
      headers: { ...headers, 'accept-encoding': 'identity', ...extra },
    });
    const text = await reply.body.text();
    if (reply.statusCode !== 200) {
      throw new Error(`${target} was answered with ${reply.statusCode}: ${text}`);
    }
    const snapshot = String(reply.headers['x-snapshot']);
    if (text !== expected.get(snapshot)?.get(target)) {
      throw new Error(`${target} is not what ${snapshot} holds: ${text}`);
    }
    requests++;
    return snapshot;
  };
  const client = async (number: number) => {
    for (let i = number; !isDone; i++)
      seen.add(await request(targets[(i * 7) % targets.length] ?? ''));
  };
  // A crawl names the snapshot of its first page, and must get all pages from it.
  const crawler = async () => {
    for (; !isDone; crawls++) {
      const snapshot = await request(SEARCH_PAGES[0]);
      for (const page of SEARCH_PAGES.slice(1)) {
        const found = await request(page, { 'x-snapshot': snapshot });
        if (found !== snapshot) throw new Error(`A crawl of ${snapshot} was given ${found}.`);
      }
    }
  };
  const started = performance.now();
  const clients = [
    ...Array.from({ length: CLIENTS }, (_, number) => client(number)),
    ...Array.from({ length: CRAWLERS }, () => crawler()),
  ];
  const swapping = (async () => {
    for (let swap = 0; swap < SWAPS; swap++) {
      const id = ids[swap % 2];
      pointTo(dir, id);
      await until(async () => (await request('/stats')) === id);
      // On a busy machine, the clients send few requests during a swap.
      await until(() => requests > (swap + 1) * 20);
    }
    await until(() => crawls > SWAPS / 4);
  })();
  // The first failure ends the test at once.
  await Promise.race([swapping, Promise.all(clients)]);
  isDone = true;
  await Promise.all(clients);
  expect(seen.size).toBe(2);
  expect(requests).toBeGreaterThan(SWAPS * 20);
  expect(crawls).toBeGreaterThan(SWAPS / 4);
  const seconds = (performance.now() - started) / 1000;
  printFigure(
    'Swaps are invisible',
    `${SWAPS} swaps, ${requests} requests (${Math.round(requests / seconds)} a second), ${crawls} crawls: 0 failed, 0 mixed`,
  );
  await pool.close();
  await proxy.kill();
});

/** Reads all bodies that the clients request from a proxy that serves only this generation. */
async function readAll(dir: string, id: string): Promise<ReadonlyMap<string, string>> {
  pointTo(dir, id);
  const proxy = await startProxy(dir);
  const bodies = new Map<string, string>();
  const read = async (target: string) => {
    const reply = await proxy.get(target, key.key);
    expect([target, reply.status, reply.headers['x-snapshot']]).toEqual([target, 200, id]);
    bodies.set(target, reply.text);
    return reply.json;
  };
  await read('/stats');
  await read('/covers/recent');
  for (const page of SEARCH_PAGES) await read(page);
  const { data: platforms } = await read('/platforms');
  for (const { slug, game_count: games } of platforms) {
    await read(`/platforms/${slug}`);
    if (games > 0) await read(`/platforms/${slug}/games?per_page=${1 + (games % 100)}`);
  }
  const { data: found } = await read('/search?q=s&per_page=100&sort=year_desc');
  for (const game of found) {
    const target = `/games/${game.platform.slug}/${game.slug}`;
    await read(target);
    if (game.cover_count === 0) continue;
    const { data: covers } = await read(`${target}/covers`);
    await read(`/covers/${covers[0].id}`);
  }
  await proxy.kill();
  return bodies;
}

test('a crawl that names its snapshot gets one catalogue across a swap, and 410 after it is removed', async () => {
  const { dir, ids } = await makeGenerations(GAMES, ['older', 'newer'], key);
  const [older, newer] = ids as [string, string];
  pointTo(dir, older);
  const proxy = await startProxy(dir);
  const page = (number: number, extra: Record<string, string> = {}) =>
    proxy.get(`/search?per_page=50&page=${number}`, key.key, { ...extra });
  const first = await page(1);
  expect(first.headers['x-snapshot']).toBe(older);
  pointTo(dir, newer);
  await until(async () => (await page(1)).headers['x-snapshot'] === newer);
  const second = await page(2, { 'x-snapshot': older });
  expect(second.status).toBe(200);
  expect(second.headers['x-snapshot']).toBe(older);
  expect(second.text).toContain('"description":"older"');
  expect(second.text).not.toContain('"description":"newer"');
  await proxy.kill();

  rmSync(path.join(dir, GENERATIONS, older), { recursive: true });
  const restarted = await startProxy(dir);
  const gone = await restarted.get('/stats', key.key, { 'x-snapshot': older });
  expect(gone.status).toBe(410);
  expect(gone.text).toBe('{"error":"Snapshot gone"}');
  await restarted.kill();
});

// For a process that has just started, and for one that has run for weeks.
test.each([0, 5_000_000_000])(
  'a removed generation is served until a minute after the last request for it (clock at %i)',
  async (started) => {
    const { dir, ids } = await makeGenerations(GAMES, ['older', 'newer'], key);
    const [older, newer] = ids as [string, string];
    let now = 0;
    const events = { swapped: () => {}, refused: () => {} };
    const snapshots = openSnapshots(dir, 160 * 2 ** 20, events, () => now);
    pointTo(dir, older);
    await snapshots.refresh();
    // The swap happens long after the older generation was opened.
    now = started;
    pointTo(dir, newer);
    await snapshots.refresh();
    expect(snapshots.current()?.id).toBe(newer);
    rmSync(path.join(dir, GENERATIONS, older), { recursive: true });
    for (let i = 0; i < 3; i++) {
      now += 59_999;
      await snapshots.refresh();
      expect(await requestById(snapshots, older)).toBe('older');
    }
    now += 60_000;
    await snapshots.refresh();
    expect(await requestById(snapshots, older)).toBe('gone');
    expect(await requestById(snapshots, newer)).toBe('newer');
    snapshots.close();
  },
);

test('a kept generation that is not open is opened for a client that names it', async () => {
  const { dir, ids } = await makeGenerations(GAMES, ['older', 'newer'], key);
  const [older] = ids as [string, string];
  const proxy = await startProxy(dir);
  const replies = await Promise.all(
    Array.from({ length: 10 }, () => proxy.get('/search', key.key, { 'x-snapshot': older })),
  );
  for (const reply of replies) {
    expect(reply.status).toBe(200);
    expect(reply.headers['x-snapshot']).toBe(older);
    expect(reply.text).toContain('"description":"older"');
  }
  await proxy.kill();
});

test('kept generations can be requested by name, and older ones give 410', async () => {
  const dir = path.join(makeFolder(), 'snapshots');
  const ids: string[] = [];
  for (let run = 0; run < KEPT_GENERATIONS + 2; run++) {
    await generate(await makeSqlite(markedCatalogue(GAMES, `run ${run}`)), dir);
    ids.push(path.basename(readlinkSync(path.join(dir, CURRENT))));
  }
  writeKeys(dir, [key]);
  const proxy = await startProxy(dir);
  const request = (id: string, method = 'GET') =>
    send(`${proxy.url}/api/v1/search?per_page=1`, {
      method,
      headers: { ...headers, 'x-snapshot': id },
    });
  for (const [run, id] of ids.entries()) {
    const reply = await request(id);
    if (run >= 2) {
      expect([reply.status, reply.headers['x-snapshot']]).toEqual([200, id]);
      expect(reply.text).toContain(`"description":"run ${run}"`);
    } else {
      expect([reply.status, reply.text]).toEqual([410, '{"error":"Snapshot gone"}']);
      expect(reply.headers['cache-control']).toBe('no-store');
      expect(reply.headers['x-snapshot']).toBeUndefined();
      expect((await request(id, 'HEAD')).status).toBe(410);
    }
  }
  // None of these is the id of a generation, and none may lead out of the folder.
  for (const id of ['x', '../snapshots', `${ids.at(-1)}/../${ids.at(-1)}`, '__proto__', '%00']) {
    expect([id, (await request(id)).text]).toEqual([id, '{"error":"Snapshot gone"}']);
  }
  await proxy.kill();
});

test('a proxy that starts before the first generation answers 503, and then serves', async () => {
  const dir = path.join(makeFolder(), 'snapshots');
  const source = await makeGenerations(GAMES, ['only'], key);
  const proxy = await startProxy(dir);
  const request = () => proxy.get('/stats', key.key);
  const early = await request();
  expect(early.status).toBe(503);
  expect(early.text).toBe('{"error":"No snapshot yet"}');
  expect(early.headers['retry-after']).toMatch(/^[1-9]\d*$/);
  expect((await proxy.readyz()).status).toBe(503);
  renameSync(source.dir, dir);
  await until(async () => (await request()).status === 200);
  expect((await proxy.readyz()).status).toBe(200);
  await proxy.kill();
});

test('a damaged generation is refused and named in /readyz, and the old one stays', async () => {
  const { dir, ids } = await makeGenerations(GAMES, ['older', 'newer'], key);
  const [older, newer] = ids as [string, string];
  pointTo(dir, older);
  const proxy = await startProxy(dir);
  rmSync(path.join(dir, GENERATIONS, newer, MANIFEST));
  pointTo(dir, newer);
  await until(async () => (await proxy.readyz()).json.refused !== null);
  const ready = await proxy.readyz();
  expect(ready.status).toBe(200);
  expect(ready.json.refused.id).toBe(newer);
  expect(ready.json.snapshot).toBe(older);
  expect(await proxy.metrics()).toMatch(/^snapshot_refused 1$/m);
  expect((await proxy.get('/stats', key.key)).headers['x-snapshot']).toBe(older);
  await proxy.kill();
});
