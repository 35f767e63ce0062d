/**
 * Search cannot be abused. The most expensive queries do not block the event loop longer than a plain
 * scan of all titles would.
 */
import { Pool } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeRandom } from '../../../demo/catalogue/random.ts';
import { seededCatalogue } from '../../catalogue/seeded.ts';
import { makeSnapshots } from '../../catalogue/snapshots.ts';
import { type ProxyProgram, startProxyProgram, testKey } from '../../support/product.ts';
import { IS_FULL, printFigure } from '../rounds.ts';
import { median } from '../support/median.ts';

const PROMISE = 'Search cannot be abused';
const GAMES = IS_FULL ? 150_000 : 50_000;
const ROUNDS = IS_FULL ? 9 : 5;
/** Queries of each kind in each round. */
const QUERIES = IS_FULL ? 40 : 15;
/** The resolution of the event-loop delay in the metrics: shorter delays are not measured. */
const RESOLUTION_MS = 10;

const key = testKey(1);
const catalogue = seededCatalogue({ games: GAMES, seed: 8 });
const titles = [...catalogue.games].map((row) => String(row[3]));
let proxy: ProxyProgram;
let pool: Pool;

beforeAll(async () => {
  const snapshotsDir = await makeSnapshots(catalogue, [key]);
  proxy = await startProxyProgram(snapshotsDir);
  pool = new Pool(proxy.url, { connections: 1 });
});

afterAll(() => pool.close());

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

/** Replaces two letters of a word. */
function misspell(word: string): string {
  const at = 1 + random.below(word.length - 2);
  return word.slice(0, at) + letter() + letter() + word.slice(at + 2);
}

const deep = () => 1 + random.below(GAMES / 100);
const sort = () => random.pick(['year_asc', 'year_desc', 'title_desc', 'title_asc']);

const KINDS: Readonly<Record<string, () => Record<string, string | number>>> = {
  'a misspelled title': () => ({
    q: longWords(random.pick(long)).map(misspell).slice(0, 8).join(' ').slice(0, 100),
  }),
  'a misspelled word': () => ({ q: misspell(random.pick(longWords(random.pick(long)))) }),
  'eight misspelled words': () => ({
    q: Array.from({ length: 8 }, () => misspell(random.pick(longWords(random.pick(long)))))
      .join(' ')
      .slice(0, 100),
  }),
  'a word of 100 letters': () => ({ q: Array.from({ length: 100 }, letter).join('') }),
  'one letter by year': () => ({ q: letter(), sort: sort(), page: deep(), per_page: 100 }),
  'eight letters': () => ({ q: Array.from({ length: 8 }, letter).join(' '), per_page: 100 }),
  'a letter of a genre': () => ({ genre: letter(), sort: sort(), page: deep(), per_page: 100 }),
  'every filter': () => ({
    q: letter(),
    genre: letter(),
    region: random.pick(['Japan', 'USA']),
    type: 'front',
    sort: sort(),
    page: deep(),
    per_page: 100,
  }),
  'the deepest pages': () => ({
    sort: sort(),
    per_page: 100,
    page: random.pick([GAMES / 100, 2 ** 53 - 1, deep()]),
  }),
  'part of a Japanese title': () => {
    const [part = 'アン'] = /[\u3040-\u30ff]{2}/.exec(random.pick(japanese)) ?? [];
    return { q: part, sort: sort(), page: deep(), per_page: 100 };
  },
  'ligatures that stand for eighteen letters each': () => ({ q: '\ufdfa'.repeat(100) }),
  'many combining marks': () => ({ q: `e${'\u0301\u0323'.repeat(49)}` }),
  '100 characters of four bytes': () => ({ q: '𠮷'.repeat(100) }),
};

/** Sends queries one after another. @returns milliseconds: CPU per query, and the longest delay */
async function measure(makeQuery: () => Record<string, string | number>) {
  await readMetrics();
  const before = await readMetrics();
  for (let i = 0; i < QUERIES; i++) {
    // Spaces after the text make each query new, so it is not served from the cache.
    const made = toStrings(makeQuery());
    const query = new URLSearchParams({ ...made, q: `${made.q ?? ''}${' '.repeat(i)}` });
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

/** The CPU time so far, and the longest event-loop delay since the last call, in milliseconds. */
async function readMetrics(): Promise<{ cpu: number; delay: number }> {
  const text = await proxy.metrics();
  const read = (name: string) =>
    Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN);
  return {
    cpu: read('process_cpu_seconds_total') * 1000,
    delay: Math.max(0, read('nodejs_eventloop_lag_max_seconds') * 1000 - RESOLUTION_MS),
  };
}

/** Measures one plain scan of all titles in this process, under the same conditions. */
function scan(word: string): { cpu: number; delay: number } {
  const [started, cpuBefore] = [performance.now(), process.cpuUsage()];
  const hits = titles.filter((title) => title.toLowerCase().includes(word));
  const { user, system } = process.cpuUsage(cpuBefore);
  expect(hits.length).toBeLessThan(titles.length);
  return { cpu: (user + system) / 1000, delay: performance.now() - started };
}

const quantile = (numbers: readonly number[], share: number) =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length * share)];

test(`none of ${Object.keys(KINDS).length} kinds of expensive queries blocks the event loop longer than a scan of the titles`, async () => {
  const costs = new Map<string, { cpu: number; delay: number }[]>();
  const scans: { cpu: number; delay: number }[] = [];
  for (const makeQuery of Object.values(KINDS)) await measure(makeQuery);
  // In rounds, so that other work on the machine affects all kinds equally.
  for (let round = 0; round < ROUNDS; round++) {
    for (const [kind, makeQuery] of Object.entries(KINDS)) {
      costs.set(kind, [...(costs.get(kind) ?? []), await measure(makeQuery)]);
      scans.push(scan(LETTERS[round]));
    }
  }
  const plainScan = {
    cpu: median(scans.map(({ cpu }) => cpu)),
    delay: median(scans.map(({ delay }) => delay)),
  };
  const found = [...costs].map(([kind, all]) => ({
    kind,
    cpu: median(all.map(({ cpu }) => cpu)),
    // Each value is the longest of many queries. The lower quartile leaves out other work of the machine.
    delay: quantile(
      all.map(({ delay }) => delay),
      0.25,
    ),
  }));
  const most = (of: 'cpu' | 'delay') =>
    found.toSorted((a, b) => b[of] - a[of])[0] as (typeof found)[0];
  const [costliest, longest] = [most('cpu'), most('delay')];
  printFigure(
    PROMISE,
    `${GAMES} games, ${ROUNDS * QUERIES * found.length} queries of ${found.length} kinds: at most ${costliest.cpu.toFixed(1)} ms of CPU per query including HTTP ("${costliest.kind}"), ${plainScan.cpu.toFixed(1)} ms for a plain scan of the titles; event-loop delay at most ${longest.delay.toFixed(1)} ms ("${longest.kind}"), ${plainScan.delay.toFixed(1)} ms for the scan`,
  );
  for (const { kind, cpu, delay } of found) {
    expect(cpu, kind).toBeLessThan(plainScan.cpu);
    expect(delay, kind).toBeLessThan(2 * plainScan.delay + RESOLUTION_MS / 10);
  }
});
