/**
 * The most expensive queries, those of the benchmark and some that combine filters, deep pages and long words.
 * All are answered. Prints what they cost, and how long they keep other requests waiting.
 */
import { Pool } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeRandom } from '../../../demo/catalogue/random.ts';
import { makeSample, QUERY_SETS } from '../../bench/queries.ts';
import { seededCatalogue } from '../../catalogue/seeded.ts';
import { makeSnapshots } from '../../catalogue/snapshots.ts';
import { type ProxyProgram, startProxyProgram, testKey } from '../../support/product.ts';
import { IS_FULL, printFigure } from '../rounds.ts';

const GAMES = IS_FULL ? 150_000 : 20_000;
/** Of each kind. */
const QUERIES = IS_FULL ? 300 : 20;

const key = testKey(1);
const catalogue = seededCatalogue({ games: GAMES, seed: 8 });
const random = makeRandom(5);
let proxy: ProxyProgram;
let pool: Pool;

beforeAll(async () => {
  proxy = await startProxyProgram(await makeSnapshots(catalogue, [key]));
  pool = new Pool(proxy.url, { connections: 1 });
});
afterAll(() => pool.close());

const letter = () => random.pick([...'abcdefghijklmnopqrstuvwxyz']);
const paging = () => ({ page: String(1 + random.below(GAMES / 100)), per_page: '100' });
const OTHERS: Readonly<Record<string, () => Record<string, string>>> = {
  'a word of 100 letters': () => ({ q: Array.from({ length: 100 }, letter).join('') }),
  'a letter of a genre': () => ({ genre: letter(), sort: 'year_asc', ...paging() }),
  'every filter': () => ({
    ...{ q: letter(), genre: letter(), region: 'Japan', type: 'front', sort: 'year_desc' },
    ...paging(),
  }),
  'a page after the last one': () => ({ page: String(2 ** 53 - 1) }),
  'many combining marks': () => ({ q: `e${'\u0301\u0323'.repeat(49)}` }),
  '100 characters of four bytes': () => ({ q: '𠮷'.repeat(100) }),
};

async function metric(name: string): Promise<number> {
  const [, value] = new RegExp(`^${name} (\\S+)$`, 'm').exec(await proxy.metrics()) ?? [];
  return Number(value) * 1000;
}

test('every kind of expensive query is answered', async () => {
  const slugs = new Map([...catalogue.platforms].map(([id, slug]) => [id, String(slug)]));
  const games = [...catalogue.games].map(([, platform, slug, title]) => {
    const names = { slug: String(slug), title: String(title), year: null };
    return { platform: slugs.get(platform) ?? '', ...names };
  });
  const sample = makeSample(games);
  const kinds = [
    ...QUERY_SETS.map(({ name, make }) => [name, (index: number) => make(sample, index)] as const),
    ...Object.entries(OTHERS),
  ];
  const costs: { kind: string; cpu: number; delay: number }[] = [];
  for (const [kind, make] of kinds) {
    const before = await metric('process_cpu_seconds_total');
    for (let index = 0; index < QUERIES; index++) {
      // Spaces after the text make each query new, so it is not served from the cache.
      const made = make(index);
      const query = new URLSearchParams({ ...made, q: `${made.q ?? ''}${' '.repeat(index)}` });
      const { statusCode, body } = await pool.request({
        ...{ method: 'GET', path: `/api/v1/search?${query}`, headers: { 'x-api-key': key.key } },
      });
      await body.dump();
      expect([kind, `${query}`, statusCode]).toEqual([kind, `${query}`, 200]);
    }
    const cpu = ((await metric('process_cpu_seconds_total')) - before) / QUERIES;
    costs.push({ kind, cpu, delay: await metric('nodejs_eventloop_lag_max_seconds') });
  }
  const most = (of: 'cpu' | 'delay') => {
    const [{ kind, [of]: value }] = costs.toSorted((a, b) => b[of] - a[of]);
    return `${value.toFixed(1)} ms ("${kind}")`;
  };
  printFigure(
    'Search cannot be abused',
    `${GAMES} games, ${QUERIES} queries of each of ${kinds.length} kinds: at most ${most('cpu')} of CPU per query including HTTP; event-loop delay at most ${most('delay')}`,
  );
});
