/** Generations that come and go under load: nobody notices, no answer is of two of them. */
import { readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { Pool } from 'undici';
import { expect, test } from 'vitest';
import { CURRENT, GENERATIONS, MANIFEST } from '../format/layout.ts';
import type { Catalogue } from './catalogue/catalogue.ts';
import { seededCatalogue } from './catalogue/seeded.ts';
import { makeSqlite } from './catalogue/snapshots.ts';
import { generate, makeFolder, send, startProxy, testKey, until, writeKeys } from './product.ts';

const SWAPS = 50;
const CLIENTS = 6;
const key = testKey(1);
const headers = { 'x-api-key': key.key };

/** A catalogue whose every description names it. */
function markedCatalogue(mark: string): Catalogue {
  const catalogue = seededCatalogue({ games: 400, seed: 3 });
  return {
    ...catalogue,
    games: [...catalogue.games].map((row) =>
      row.map((value, column) => (column === 5 ? mark : value)),
    ),
  };
}

/** A snapshots folder with a generation of each mark. @returns the ids in that order */
async function makeGenerations(marks: readonly string[]): Promise<{ dir: string; ids: string[] }> {
  const dir = path.join(makeFolder(), 'snapshots');
  for (const mark of marks) await generate(await makeSqlite(markedCatalogue(mark)), dir);
  writeKeys(dir, [key]);
  return { dir, ids: readdirSync(path.join(dir, GENERATIONS)).sort() };
}

function pointTo(dir: string, id: string): void {
  const next = path.join(dir, 'next');
  symlinkSync(path.join(GENERATIONS, id), next);
  renameSync(next, path.join(dir, CURRENT));
}

test(`${SWAPS} swaps under load fail no request and mix no response`, {
  timeout: 180_000,
}, async () => {
  const marks = ['first', 'second'];
  const { dir, ids } = await makeGenerations(marks);
  const markOf = new Map(ids.map((id, i) => [id, marks[i] as string]));
  const proxy = await startProxy(dir);
  const pool = new Pool(proxy.url, { connections: CLIENTS });
  const platforms = (await send(`${proxy.url}/api/v1/platforms`, { headers })).json.data;
  const filled = platforms.filter(({ game_count }: { game_count: number }) => game_count > 0);
  const some = (await send(`${proxy.url}/api/v1/search?per_page=100`, { headers })).json.data;
  let isDone = false;
  let requests = 0;
  const seen = new Set<string>();
  const client = async (number: number) => {
    for (let i = number; !isDone; i++) {
      const { slug } = filled[i % filled.length];
      const game = some[(i * 7) % some.length];
      const target = [
        `/platforms/${slug}/games?per_page=${1 + (i % 100)}`,
        `/search?q=${'abcdefgst'[i % 9]}&page=${1 + (i % 3)}&sort=year_desc&n=${i}`,
        `/games/${game.platform.slug}/${game.slug}`,
      ][i % 3];
      const {
        statusCode,
        headers: fields,
        body,
      } = await pool.request({
        method: 'GET',
        path: `/api/v1${target}`,
        headers: { ...headers, 'accept-encoding': 'identity' },
      });
      const text = await body.text();
      if (statusCode !== 200) throw new Error(`${target} was answered with ${statusCode}: ${text}`);
      const snapshot = String(fields['x-snapshot']);
      seen.add(snapshot);
      const found = [...text.matchAll(/"description":"(\w+)"/g)].map(([, mark]) => mark);
      const wrong = found.find((mark) => mark !== markOf.get(snapshot));
      if (wrong !== undefined)
        throw new Error(`${target} of ${snapshot} holds a record of "${wrong}".`);
      requests++;
    }
  };
  const clients = Array.from({ length: CLIENTS }, (_, number) => client(number));
  const swapping = (async () => {
    for (let swap = 0; swap < SWAPS; swap++) {
      const id = ids[swap % 2] as string;
      pointTo(dir, id);
      await until(
        async () =>
          (await send(`${proxy.url}/api/v1/stats`, { headers })).headers['x-snapshot'] === id,
      );
    }
  })();
  // Whichever fails first ends the test at once.
  await Promise.race([swapping, Promise.all(clients)]);
  isDone = true;
  await Promise.all(clients);
  expect(seen.size).toBe(2);
  expect(requests).toBeGreaterThan(SWAPS * 10);
  await pool.close();
  await proxy.stop();
});

test('a crawl that names its snapshot sees one catalogue over a swap, until it is gone', async () => {
  const { dir, ids } = await makeGenerations(['older', 'newer']);
  const [older, newer] = ids as [string, string];
  pointTo(dir, older);
  const proxy = await startProxy(dir);
  const page = (number: number, extra: Record<string, string> = {}) =>
    send(`${proxy.url}/api/v1/search?per_page=50&page=${number}`, {
      headers: { ...headers, ...extra },
    });
  const first = await page(1);
  expect(first.headers['x-snapshot']).toBe(older);
  pointTo(dir, newer);
  await until(async () => (await page(1)).headers['x-snapshot'] === newer);
  const second = await page(2, { 'x-snapshot': older });
  expect(second.status).toBe(200);
  expect(second.headers['x-snapshot']).toBe(older);
  expect(second.text).toContain('"description":"older"');
  expect(second.text).not.toContain('"description":"newer"');
  await proxy.stop();

  rmSync(path.join(dir, GENERATIONS, older), { recursive: true });
  const restarted = await startProxy(dir);
  const gone = await send(`${restarted.url}/api/v1/stats`, {
    headers: { ...headers, 'x-snapshot': older },
  });
  expect(gone.status).toBe(410);
  expect(gone.text).toBe('{"error":"Snapshot gone"}');
  await restarted.stop();
});

test('a kept generation that is not open is opened for who names it', async () => {
  const { dir, ids } = await makeGenerations(['older', 'newer']);
  const [older] = ids as [string, string];
  const proxy = await startProxy(dir);
  const replies = await Promise.all(
    Array.from({ length: 10 }, () =>
      send(`${proxy.url}/api/v1/search`, { headers: { ...headers, 'x-snapshot': older } }),
    ),
  );
  for (const reply of replies) {
    expect(reply.status).toBe(200);
    expect(reply.headers['x-snapshot']).toBe(older);
    expect(reply.text).toContain('"description":"older"');
  }
  await proxy.stop();
});

test('started before the first generation it answers 503, then serves', async () => {
  const dir = path.join(makeFolder(), 'snapshots');
  const source = await makeGenerations(['only']);
  const proxy = await startProxy(dir);
  const ask = () => send(`${proxy.url}/api/v1/stats`, { headers });
  const early = await ask();
  expect(early.status).toBe(503);
  expect(early.text).toBe('{"error":"No snapshot yet"}');
  expect(early.headers['retry-after']).toMatch(/^[1-9]\d*$/);
  expect((await send(`${proxy.adminUrl}/readyz`)).status).toBe(503);
  renameSync(source.dir, dir);
  await until(async () => (await ask()).status === 200);
  expect((await send(`${proxy.adminUrl}/readyz`)).status).toBe(200);
  await proxy.stop();
});

test('a damaged generation is refused, named by /readyz, and the old one stays', async () => {
  const { dir, ids } = await makeGenerations(['older', 'newer']);
  const [older, newer] = ids as [string, string];
  pointTo(dir, older);
  const proxy = await startProxy(dir);
  rmSync(path.join(dir, GENERATIONS, newer, MANIFEST));
  pointTo(dir, newer);
  await until(async () => (await send(`${proxy.adminUrl}/readyz`)).json.refused !== null);
  const ready = await send(`${proxy.adminUrl}/readyz`);
  expect(ready.status).toBe(200);
  expect(ready.json.refused.id).toBe(newer);
  expect(ready.json.snapshot).toBe(older);
  expect((await send(`${proxy.adminUrl}/metrics`)).text).toMatch(/^snapshot_refused 1$/m);
  expect((await send(`${proxy.url}/api/v1/stats`, { headers })).headers['x-snapshot']).toBe(older);
  await proxy.stop();
});
