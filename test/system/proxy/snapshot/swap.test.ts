/** A generation is replaced by another one: no request fails, and no response mixes the two. */
import { expect, test } from 'vitest';
import { pointCurrentTo } from '#lib/generations/generations.ts';
import { makeGenerations } from '#test/proxy/snapshot/marked-generations.ts';
import { openFilesIn } from '#test/support/processes.ts';
import { NEVER, startProxy, testKey } from '#test/support/product.ts';

const GAMES = 60;
const key = testKey(1);

const start = (dir: string, environment: Readonly<Record<string, string>> = {}) =>
  startProxy(dir, environment, NEVER);

test('requests during a swap are answered from one of the two generations, and from the new one after it', async () => {
  const { dir, ids } = await makeGenerations(GAMES, ['older', 'newer'], key);
  const [older, newer] = ids as [string, string];
  const markOf = { [older]: 'older', [newer]: 'newer' };
  pointCurrentTo(dir, older);
  const proxy = await start(dir);
  const ask = async () => {
    const { status, headers, json } = await proxy.get('/search?per_page=50', key.key);
    const id = String(headers['x-snapshot']);
    const marks = new Set(json.data.map((game: { description: string }) => game.description));
    expect([status, [...marks]]).toEqual([200, [markOf[id]]]);
    return id;
  };
  const seen = [await ask()];
  pointCurrentTo(dir, newer);
  let isSwapped = false;
  const client = async () => {
    while (!isSwapped) seen.push(await ask());
  };
  const clients = [client(), client(), client()];
  await proxy.refresh();
  isSwapped = true;
  await Promise.all(clients);
  expect(await ask()).toBe(newer);
  expect(seen[0]).toBe(older);
  expect(seen.length).toBeGreaterThan(clients.length);
});

test('a request that expects a replaced snapshot gets 412 from every thread, and nothing of it stays open', async () => {
  const { dir, ids } = await makeGenerations(GAMES, ['older', 'newer'], key);
  const [older, newer] = ids as [string, string];
  pointCurrentTo(dir, older);
  const proxy = await start(dir, { PROXY_THREADS: '2' });
  const request = (snapshot: string) =>
    proxy.get('/search?per_page=50', key.key, { 'x-snapshot': snapshot, connection: 'close' });
  expect((await request(older)).status).toBe(200);
  expect((await request(newer)).status).toBe(412);
  pointCurrentTo(dir, newer);
  await proxy.refresh();
  const replies = await Promise.all(Array.from({ length: 20 }, () => request(older)));
  expect(replies.map(({ status }) => status)).toEqual(Array(20).fill(412));
  expect((await request(newer)).text).toContain('"description":"newer"');
  const open = openFilesIn(dir);
  expect(open.filter((file) => file.includes(newer))).not.toEqual([]);
  expect(open.filter((file) => file.includes(older))).toEqual([]);
});
