/**
 * Titles that can be split in many ways, and queries of such words: the work must not multiply with each
 * word. The number of ways to read eight such words is more than a million.
 */
import { beforeAll, expect, test } from 'vitest';
import type { Catalogue } from '../../catalogue/catalogue.ts';
import { makeSnapshots } from '../../catalogue/snapshots.ts';
import { type RunningProxy, send, startProxy, testKey, writeKeys } from '../../support/product.ts';

const TITLE = 'b bb b bb bbb b bbb bb bbb bbbb b bbbb bb bbbb';
const key = testKey(1);
let proxy: RunningProxy;

function catalogueOf(...titles: string[]): Catalogue {
  return {
    platforms: [[1, 'one', 'One']],
    games: titles.map((title, at) => [
      at + 1,
      1,
      `game-${at}`,
      title,
      null,
      null,
      null,
      null,
      null,
    ]),
    // A first generation without any cover is refused.
    covers: [[1, 1, null, null, 'approved', null]],
    coverFiles: [],
    accounts: [],
  };
}

beforeAll(async () => {
  const words = ['b', 'bb', 'bbb', 'bbbb', 'bbbbb'];
  const all = words.flatMap((a) => words.flatMap((b) => words.map((c) => `${a} ${b} ${c}`)));
  const snapshotsDir = await makeSnapshots(catalogueOf('Another', TITLE, all.join(' ')));
  writeKeys(snapshotsDir, [key]);
  proxy = await startProxy(snapshotsDir);
});

/** @returns how many milliseconds the fastest of some equal queries of this many words took */
async function timeOf(word: string, count: number, sort: string): Promise<number> {
  const times: number[] = [];
  for (let run = 0; run < 7; run++) {
    // The number of games per page differs, so no response comes from the cache.
    const q = Array(count).fill(word).join('+');
    const target = `/api/v1/search?q=${q}&sort=${sort}&per_page=${20 + run}`;
    const start = performance.now();
    const { status } = await send(`${proxy.url}${target}`, { headers: { 'x-api-key': key.key } });
    times.push(performance.now() - start);
    expect(status).toBe(200);
  }
  return Math.min(...times);
}

test.each([
  ['bbbbb', 'title_asc'],
  ['bbbbbb', 'relevance'],
  ['bbbbbbb', 'relevance'],
])('eight times %s, by %s, takes a small multiple of twice the word', async (word, sort) => {
  const twice = await timeOf(word, 2, sort);
  const eightTimes = await timeOf(word, 8, sort);
  // With a path for each way to split each word, it would be thousands of times as much.
  expect(eightTimes / twice).toBeLessThan(40);
});
