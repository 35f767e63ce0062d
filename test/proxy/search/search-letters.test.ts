/** Queries through the real proxy: long parts of words, and what "%" may stand for. */
import { beforeAll, expect, test } from 'vitest';
import type { Catalogue } from '../../../demo/catalogue/load.ts';
import { makeSnapshots } from '../../catalogue/snapshots.ts';
import { type RunningProxy, send, startProxy, testKey, writeKeys } from '../../support/product.ts';
import { openSocket, readToEnd } from '../../support/servers/sockets.ts';

const LONG_TITLE = `ザ${'アパート'.repeat(40)}`;
const TITLES = ['Chrono Trigger', LONG_TITLE];
const catalogue: Catalogue = {
  platforms: [[1, 'snes', 'Super Nintendo']],
  games: TITLES.map((title, at) => {
    return [at + 1, 1, `game-${at}`, title, null, null, 'RPG', null, null];
  }),
  // Without a cover the first generation would be refused.
  covers: [[1, 1, null, null, 'approved', null]],
  coverFiles: [],
  accounts: [],
};
const key = testKey(1);
let proxy: RunningProxy;

beforeAll(async () => {
  const snapshotsDir = await makeSnapshots(catalogue);
  writeKeys(snapshotsDir, [key]);
  proxy = await startProxy(snapshotsDir);
});
async function titlesFor(q: string): Promise<string[]> {
  const url = `${proxy.url}/api/v1/search?q=${encodeURIComponent(q)}`;
  const { json } = await send(url, { headers: { 'x-api-key': key.key } });
  return json.data.map(({ title }: { title: string }) => title);
}

test('a part of a word is found, however long folding makes it', async () => {
  // Folding writes each ㌀ as アパート. Of the 120 characters, the index has the first 100.
  expect(await titlesFor('㌀'.repeat(30))).toEqual([LONG_TITLE]);
  expect(await titlesFor(`${'㌀'.repeat(20)}パ`)).toEqual([]);
});

test.each([
  ['read by the proxy itself', ''],
  ["read by Node's HTTP server", 'Content-Length: 0\r\n'],
])('a stray percent sign is 400 and names the parameter, %s', async (_, field) => {
  const ask = async (target: string) => {
    const socket = await openSocket(proxy.port);
    const received = readToEnd(socket);
    const head = `Host: x\r\nX-Api-Key: ${key.key}\r\n${field}`;
    socket.write(`GET /api/v1${target} HTTP/1.1\r\n${head}\r\n`);
    socket.write(`GET /api/v1/stats HTTP/1.1\r\n${head}Connection: close\r\n\r\n`);
    const text = await received;
    return [Number(text.slice(9, 12)), /\{.*?\}(?=HTTP|$)/s.exec(text)?.[0].slice(0, 100)];
  };
  const names = ['q', 'platform', 'region', 'type', 'genre', 'sort', 'page', 'per_page'];
  for (const name of names) {
    for (const value of ['%ZZ', '100%', '%4']) {
      const fault = `{"error":"${name} must be percent-encoded: write % as %25"}`;
      expect(await ask(`/search?${name}=${value}&x=1`)).toEqual([400, fault]);
      if (!name.includes('page')) continue;
      expect(await ask(`/platforms/snes/games?${name}=${value}`)).toEqual([400, fault]);
    }
  }
  for (const query of [
    'q=chrono+trigger',
    'q=chrono%20trigger',
    'q=%63hrono',
    'genre=rp%67&q=trigger',
  ]) {
    const [status, body] = await ask(`/search?${query}`);
    expect([status, body]).toEqual([200, expect.stringContaining('"title":"Chrono Trigger"')]);
  }
  // Paths name what is there or nothing.
  for (const path of ['/platforms/%ZZ', '/games/snes/100%', '/covers/%4']) {
    expect(await ask(path)).toEqual([404, '{"error":"Not found"}']);
  }
});
