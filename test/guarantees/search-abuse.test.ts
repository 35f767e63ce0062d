/**
 * Search cannot be abused: the queries that cost most, one after another, hold the event loop no
 * longer than a plain pass over all titles would.
 */
import { Pool } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { median } from '../bench/part.ts';
import { makeRandom } from '../catalogue/random.ts';
import { seededCatalogue } from '../catalogue/seeded.ts';
import { makeSnapshots } from '../catalogue/snapshots.ts';
import { type RunningProxy, send, startProxy, testKey, writeKeys } from '../support/product.ts';
import { printFigure, rounds } from '../support/rounds.ts';

const PROMISE = 'Search cannot be abused';
const GAMES = rounds(20_000, 150_000);
const ROUNDS = rounds(5, 9);
/** Of each kind, in each round. */
const QUERIES = rounds(15, 40);
/** What event-loop delay is measured at: less is not seen. */
const RESOLUTION_MS = 10;

const key = testKey(1);
const catalogue = seededCatalogue({ games: GAMES, seed: 8 });
const titles = [...catalogue.games].map((row) => String(row[3]));
let proxy: RunningProxy;
let pool: Pool;

beforeAll(async () => {
  const snapshotsDir = await makeSnapshots(catalogue);
  writeKeys(snapshotsDir, [key]);
  proxy = await startProxy(snapshotsDir);
  pool = new Pool(proxy.url, { connections: 1 });
}, 600_000);

afterAll(async () => {
  await pool.close();
  await proxy.stop();
});

const random = makeRandom(5);
const LETTERS = [...'abcdefghijklmnopqrstuvwxyz'];
const letter = () => random.pick(LETTERS);
const long = titles
  .filter((title) => /^[\x20-\x7e]+$/.test(title))
  .toSorted((a, b) => longWords(b).length - longWords(a).length)
  .slice(0, 200);
const japanese = titles.filter((title) => /[\u3040-\u30ff]{3}/.test(title));

function longWords(text: string): string[] {
  return text.match(/[A-Za-z]{8,}/g) ?? [];
}

/** Two letters of each word are others. */
function misspell(word: string): string {
  const at = 1 + random.below(word.length - 2);
  return word.slice(0, at) + letter() + letter() + word.slice(at + 2);
}

const deep = () => 1 + random.below(GAMES / 100);
const sort = () => random.pick(['year_asc', 'year_desc', 'title_desc', 'title_asc']);

const KINDS: Readonly<Record<string, () => Record<string, string | number>>> = {
  'a misspelt title': () => ({
    q: longWords(random.pick(long)).map(misspell).slice(0, 8).join(' ').slice(0, 100),
  }),
  'a misspelt word': () => ({ q: misspell(random.pick(longWords(random.pick(long)))) }),
  'eight words that nearly exist': () => ({
    q: Array.from({ length: 8 }, () => misspell(random.pick(longWords(random.pick(long)))))
      .join(' ')
      .slice(0, 100),
  }),
  'a word of 100 letters': () => ({ q: Array.from({ length: 100 }, letter).join('') }),
  'one letter by year': () => ({ q: letter(), sort: sort(), page: deep(), per_page: 100 }),
  'eight letters': () => ({ q: Array.from({ length: 8 }, letter).join(' '), per_page: 100 }),
  'a letter of a genre': () => ({ genre: letter(), sort: sort(), page: deep(), per_page: 100 }),
  'every filter': () => ({
    ...{ q: letter(), genre: letter(), region: random.pick(['Japan', 'USA']), type: 'front' },
    ...{ sort: sort(), page: deep(), per_page: 100 },
  }),
  'the deepest pages': () => ({
    ...{ sort: sort(), per_page: 100 },
    page: random.pick([GAMES / 100, 2 ** 53 - 1, deep()]),
  }),
  'part of a Japanese title': () => {
    const [part = 'アン'] = /[\u3040-\u30ff]{2}/.exec(random.pick(japanese)) ?? [];
    return { q: part, sort: sort(), page: deep(), per_page: 100 };
  },
  'ligatures that take eighteen letters each': () => ({ q: '\ufdfa'.repeat(100) }),
  'marks upon marks': () => ({ q: `e${'\u0301\u0323'.repeat(49)}` }),
  'a hundred characters of four bytes': () => ({ q: '𠮷'.repeat(100) }),
};

/** Sends queries one after another. @returns what they took in the proxy, in milliseconds each */
async function measure(makeQuery: () => Record<string, string | number>) {
  await readMetrics();
  const before = await readMetrics();
  for (let i = 0; i < QUERIES; i++) {
    // The parameter keeps the answer out of the memory of bodies.
    const query = new URLSearchParams({ ...toStrings(makeQuery()), n: `${random.next()}` });
    const { statusCode, body } = await pool.request({
      method: 'GET',
      path: `/api/v1/search?${query}`,
      headers: { 'x-api-key': key.key },
    });
    await body.dump();
    expect([`${query}`, statusCode]).toEqual([`${query}`, 200]);
  }
  const after = await readMetrics();
  return { cpu: (after.cpu - before.cpu) / QUERIES, delay: after.delay };
}

const toStrings = (query: Record<string, string | number>) =>
  Object.fromEntries(Object.entries(query).map(([name, value]) => [name, `${value}`]));

/** The delay is the longest since it was read last. */
async function readMetrics(): Promise<{ cpu: number; delay: number }> {
  const { text } = await send(`${proxy.adminUrl}/metrics`);
  const read = (name: string) =>
    Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN);
  return {
    cpu: read('process_cpu_seconds_total') * 1000,
    delay: Math.max(0, read('nodejs_eventloop_lag_max_seconds') * 1000 - RESOLUTION_MS),
  };
}

/** One plain pass over all titles, which this process does under the same conditions. */
function scan(word: string): { cpu: number; delay: number } {
  const [started, cpuBefore] = [performance.now(), process.cpuUsage()];
  const hits = titles.filter((title) => title.toLowerCase().includes(word));
  const { user, system } = process.cpuUsage(cpuBefore);
  expect(hits.length).toBeLessThan(titles.length);
  return { cpu: (user + system) / 1000, delay: performance.now() - started };
}

const quantile = (numbers: readonly number[], share: number) =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length * share)];

test(`of ${Object.keys(KINDS).length} kinds of costly queries none holds the event loop longer than a pass over the titles`, {
  timeout: rounds(120_000, 900_000),
}, async () => {
  const costs = new Map<string, { cpu: number; delay: number }[]>();
  const scans: { cpu: number; delay: number }[] = [];
  for (const makeQuery of Object.values(KINDS)) await measure(makeQuery);
  // Round by round, so that what else the machine does meanwhile falls on all alike.
  for (let round = 0; round < ROUNDS; round++) {
    for (const [kind, makeQuery] of Object.entries(KINDS)) {
      costs.set(kind, [...(costs.get(kind) ?? []), await measure(makeQuery)]);
      scans.push(scan(LETTERS[round]));
    }
  }
  const yardstick = {
    cpu: median(scans.map(({ cpu }) => cpu)),
    delay: median(scans.map(({ delay }) => delay)),
  };
  const found = [...costs].map(([kind, all]) => ({
    kind,
    cpu: median(all.map(({ cpu }) => cpu)),
    // Already the longest of many queries: what else is added is the machine's.
    delay: quantile(
      all.map(({ delay }) => delay),
      0.25,
    ),
  }));
  const most = (of: 'cpu' | 'delay') =>
    found.toSorted((a, b) => b[of] - a[of])[0] as (typeof found)[0];
  const [dearest, longest] = [most('cpu'), most('delay')];
  printFigure(
    PROMISE,
    `${GAMES} games, ${ROUNDS * QUERIES * found.length} queries of ${found.length} kinds: at most ${dearest.cpu.toFixed(1)} ms of CPU each with all of HTTP ("${dearest.kind}"), a pass over the titles takes ${yardstick.cpu.toFixed(1)} ms; event-loop delay at most ${longest.delay.toFixed(1)} ms ("${longest.kind}"), the pass ${yardstick.delay.toFixed(1)} ms`,
  );
  for (const { kind, cpu, delay } of found) {
    expect(cpu, kind).toBeLessThan(yardstick.cpu);
    expect(delay, kind).toBeLessThan(2 * yardstick.delay + RESOLUTION_MS / 10);
  }
});

test('what is longer than a query may be is refused before it is searched', async () => {
  for (const query of [`q=${'a'.repeat(101)}`, `q=${'%F0%A0%AE%B7'.repeat(101)}`, 'q=a&q=b']) {
    const { status } = await send(`${proxy.url}/api/v1/search?${query}`, {
      headers: { 'x-api-key': key.key },
    });
    expect([query, status]).toEqual([query, 400]);
  }
});
