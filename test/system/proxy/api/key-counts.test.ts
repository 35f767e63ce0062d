/** What a proxy counts for a key, compared with what a client sent and received. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { parseKeyUsage, type Usage } from '#lib/format/key-usage-file.ts';
import { PROXY_FOLDER } from '#lib/format/layout.ts';
import { makeSampleSnapshots } from '#test/catalogue/snapshots.ts';
import {
  NEVER,
  type Reply,
  type RunningProxy,
  send,
  startProxy,
  type TestKey,
  testKey,
} from '#test/support/product.ts';
import { shared } from '#test/support/shared.ts';

/** The sums over all days and runs in the file of the only proxy of a folder. */
function countsIn(snapshotsDir: string, id: number): Usage {
  const folder = path.join(snapshotsDir, PROXY_FOLDER);
  const [name = ''] = readdirSync(folder).filter((each) => each.startsWith('key-usage-'));
  const counts = parseKeyUsage(readFileSync(path.join(folder, name), 'utf8'), name);
  const found = counts.flatMap(({ keys }) => keys.get(id) ?? []);
  const sum = (count: keyof Usage) => found.reduce((total, each) => total + each[count], 0);
  return { requests: sum('requests'), refused: sum('refused') };
}

/** Sends requests of many kinds with a key, and counts them as a client does. */
async function useKey(proxy: RunningProxy, { key }: TestKey): Promise<Usage> {
  const replies: Reply[] = [];
  const get = async (target: string, headers: Record<string, string> = {}) => {
    const reply = await proxy.get(target, key, headers);
    replies.push(reply);
    return reply;
  };
  const api = `${proxy.url}/api/v1`;
  const keyed = { authorization: `Bearer ${key}` };
  const game = '/games/snes/chrono-trigger';
  const { headers } = await get(game);
  await get(game, { 'if-none-match': headers.etag });
  await get('/platforms', { 'accept-encoding': 'gzip' });
  await get('/games/snes/none');
  await get('/search?page=0');
  // A download in pieces, and a part of one.
  const { json } = await get('/snapshot');
  const file = json.files.toSorted(
    (a: { bytes: number }, b: { bytes: number }) => b.bytes - a.bytes,
  )[0];
  await get(`/snapshot/files/${file.path}`);
  await get(`/snapshot/files/${file.path}`, { range: 'bytes=10-19' });
  // These go through Node's parser.
  replies.push(await send(`${api}${game}`, { method: 'HEAD', headers: keyed }));
  replies.push(await send(`${api}${game}`, { headers: { ...keyed, te: 'trailers' } }));
  // None of these is a request with a valid key.
  await send(`${api}${game}`, { method: 'OPTIONS', headers: keyed });
  await send(`${api}${game}`, { method: 'POST', headers: keyed });
  await send(`${api}${game}`, { headers: { ...keyed, 'x-api-key': key } });
  await send(`${api}${game}`);
  // The limit.
  const left = Number((await get(game)).headers['x-ratelimit-remaining']);
  for (let i = 0; i < left + 3; i++) await get(game);
  expect(replies.filter(({ status }) => status === 429)).toHaveLength(3);
  return { requests: replies.length - 3, refused: 3 };
}

test.each([
  ['on its own', async () => ({})],
  [
    'with shared limits',
    async () => ({ LIMITS_URL: (await shared('redis')).url, ADDRESS_RATE_LIMIT: '1000000' }),
  ],
])('a proxy %s counts exactly what a client sees', async (_, environment) => {
  // Ids that no other test has: the windows in Redis have their names.
  const key = testKey(700_007, { limit: 15 });
  const other = testKey(700_008);
  const snapshotsDir = await makeSampleSnapshots([key, other]);
  const proxy = await startProxy(snapshotsDir, await environment(), NEVER);
  expect((await proxy.get('/stats', other.key)).status).toBe(200);
  const seen = await useKey(proxy, key);
  await proxy.stop();
  expect(countsIn(snapshotsDir, key.id)).toEqual(seen);
  expect(countsIn(snapshotsDir, other.id)).toMatchObject({ requests: 1, refused: 0 });
});
