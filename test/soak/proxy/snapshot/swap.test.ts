/** Many switches to another generation under load. */
import { Pool } from 'undici';
import { expect, test } from 'vitest';
import { pointCurrentTo } from '#lib/generations/generations.ts';
import { makeGenerations } from '#test/proxy/snapshot/marked-generations.ts';
import { printFigure, rounds } from '#test/soak/rounds.ts';
import { until } from '#test/soak/support/until.ts';
import { startProxyProgram, testKey } from '#test/support/product.ts';
import { readBodies } from '#test/support/read-all.ts';

const SWAPS = rounds(5, 40);
const CLIENTS = 14;
const CRAWLERS = 2;
const GAMES = 400;
const SEARCH_PAGES = Array.from(
  { length: GAMES / 100 },
  (_, i) => `/search?per_page=100&page=${i + 1}`,
);
/** Instead of the id of a snapshot: another one is current than the request expects. */
const CHANGED = 'changed';
const key = testKey(1);
const headers = { 'x-api-key': key.key };

test(`${SWAPS} swaps under load fail no request and mix no response`, async () => {
  const { dir, ids } = await makeGenerations(GAMES, ['first', 'second'], key);
  const [first, second] = [await readOf(dir, ids[0]), await readOf(dir, ids[1])];
  const expected = new Map([
    [ids[0], first],
    [ids[1], second],
  ]);
  // A mixed response would not be detected in the others, which are empty lists.
  const targets = [...first.keys()].filter((target) => first.get(target) !== second.get(target));
  expect(targets.length).toBeGreaterThan(2 * GAMES);
  const proxy = await startProxyProgram(dir);
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
    if (reply.statusCode === 412 && extra['x-snapshot'] !== undefined) return CHANGED;
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
  // A crawl expects the snapshot of its first page. It begins again after a swap.
  const crawler = async () => {
    while (!isDone) {
      const snapshot = await request(SEARCH_PAGES[0]);
      let isWhole = true;
      for (const page of SEARCH_PAGES.slice(1)) {
        const found = await request(page, { 'x-snapshot': snapshot });
        if (found === CHANGED) {
          isWhole = false;
          break;
        }
        if (found !== snapshot) throw new Error(`A crawl of ${snapshot} was given ${found}.`);
      }
      if (isWhole) crawls++;
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
      pointCurrentTo(dir, id);
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
  await proxy.stop();
});

/** Reads all bodies from a proxy that serves only this generation. */
async function readOf(dir: string, id: string): Promise<ReadonlyMap<string, string>> {
  pointCurrentTo(dir, id);
  const proxy = await startProxyProgram(dir);
  const { bodies } = await readBodies(proxy, key.key);
  expect((await proxy.readyz()).json.snapshot).toBe(id);
  await proxy.stop();
  return bodies;
}
