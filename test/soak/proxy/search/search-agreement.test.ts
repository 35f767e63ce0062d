/**
 * The product's search and the plain reference over the same rows, through the real proxy: seeded
 * random queries over all parameters and every order, of which totals, games and `X-Search-Match`
 * must agree. And no query finds fewer games than by the simpler rule that search began with.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { makeSnapshots } from '../../../catalogue/snapshots.ts';
import {
  type RunningProxy,
  send,
  startProxy,
  testKey,
  writeKeys,
} from '../../../support/product.ts';
import { makeReferenceSearch, type ReferenceSearch } from './reference/search.ts';
import { isScriptWithoutSpaces, wordsWithBothKana } from './reference/words.ts';
import { searchCatalogue } from './search-catalogue.ts';
import { type PagedQuery, randomQueries } from './search-queries.ts';

const QUERIES = 2_000;
const SEED = 20_250;
const SORTS = ['title_asc', 'title_desc', 'year_asc', 'year_desc', 'relevance'];

const made = searchCatalogue();
const key = testKey(1);
let reference: ReferenceSearch;
let queries: PagedQuery[];
let proxy: RunningProxy;

beforeAll(async () => {
  reference = makeReferenceSearch(made.catalogue, made.platforms);
  queries = randomQueries(QUERIES, SEED, reference.games, made);
  const snapshotsDir = await makeSnapshots(made.catalogue);
  writeKeys(snapshotsDir, [key]);
  proxy = await startProxy(snapshotsDir);
});

interface Answer {
  readonly step: string | undefined;
  readonly total: number;
  readonly ids: readonly string[];
}

async function ask(query: PagedQuery): Promise<Answer> {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, value);
  }
  const { status, headers, json } = await send(`${proxy.url}/api/v1/search?${parameters}`, {
    headers: { 'x-api-key': key.key },
  });
  expect(status, JSON.stringify(query)).toBe(200);
  const ids = json.data.map(({ id }: { id: number }) => String(id));
  return { step: headers['x-search-match'], total: json.total, ids };
}

function expected(query: PagedQuery): Answer {
  const { step, hits } = reference.search(query);
  const page = Number(query.page ?? 1);
  const perPage = Number(query.per_page ?? 50);
  const ids = hits.slice((page - 1) * perPage, page * perPage).map(({ id }) => id);
  return { step, total: hits.length, ids };
}

async function compare(query: PagedQuery): Promise<number> {
  const answer = await ask(query);
  expect(answer, JSON.stringify(query)).toEqual(expected(query));
  return answer.total;
}

async function allIds(query: PagedQuery): Promise<string[]> {
  const ids: string[] = [];
  for (let page = 1; ; page++) {
    const answer = await ask({ ...query, page: String(page), per_page: '100' });
    ids.push(...answer.ids);
    if (answer.ids.length < 100) return ids;
  }
}

test(`agrees with the reference on ${QUERIES} random queries`, async () => {
  const differing: object[] = [];
  for (const query of queries) {
    const answer = await ask(query);
    const wanted = expected(query);
    if (JSON.stringify(answer) !== JSON.stringify(wanted))
      differing.push({ query, answer, wanted });
  }
  // Some of the first, so that one can see what they have in common.
  expect(differing.slice(0, 5), `${differing.length} queries differ`).toEqual([]);
});

test('the random queries reach every step and every tier often', () => {
  const counts = new Map<unknown, number>();
  const count = (name: unknown) => counts.set(name, (counts.get(name) ?? 0) + 1);
  for (const { q } of queries) {
    if (q === undefined) continue;
    const { step = 'nothing found', tiers } = reference.find(q);
    count(step);
    for (const tier of new Set(tiers.values())) count(tier ?? 'all words name a platform');
  }
  const often = ['exact', 'near', 'platform', 'partial', 'nothing found', 0, 1, 2, 3, 4, 5, 6];
  for (const name of often) expect(counts.get(name), String(name)).toBeGreaterThan(50);
  for (const name of [7, 'all words name a platform']) {
    expect(counts.get(name), String(name)).toBeGreaterThan(20);
  }
});

/**
 * The rule that search began with: every word is a word of the title, the last one can also be the
 * beginning of one, and two characters of a script without spaces can also be a part of one.
 */
function matchedAtFirst(words: readonly string[], titleWords: readonly string[]): boolean {
  return words.every((word, i) => {
    const isPart = isScriptWithoutSpaces(word) && [...word].length >= 2;
    const isLast = i === words.length - 1;
    return titleWords.some(
      (found) =>
        found === word || (isLast && found.startsWith(word)) || (isPart && found.includes(word)),
    );
  });
}

test('finds at least the games that match by the first rule', async () => {
  const titles = reference.games.map(({ id, title }) => [id, wordsWithBothKana(title)] as const);
  let checked = 0;
  for (const q of new Set(queries.map((query) => query.q))) {
    const words = wordsWithBothKana(q ?? '').slice(0, 8);
    if (words.length === 0) continue;
    const ids = titles.filter(([, titleWords]) => matchedAtFirst(words, titleWords));
    if (ids.length === 0) continue;
    const found = new Set(await allIds({ q }));
    const missing = ids.filter(([id]) => !found.has(id));
    expect(missing, q).toEqual([]);
    checked++;
  }
  expect(checked).toBeGreaterThan(QUERIES / 8);
});

test('every order has every game exactly once, on every page', async () => {
  for (const sort of SORTS) {
    const { hits } = reference.search({ sort });
    expect(await allIds({ sort }), sort).toEqual(hits.map(({ id }) => id));
  }
});

describe('a game is found', () => {
  const firstTitle = (pattern: RegExp) =>
    reference.games.find(({ title }) => pattern.test(title))?.title ?? '';

  test('by its title whatever the case, accents and apostrophes', async () => {
    const accented = firstTitle(/[éèüöñç]/i);
    const plain = accented.normalize('NFD').replace(/[\u0300-\u036f]/g, '');
    for (const q of [accented, plain, plain.toUpperCase(), accented.normalize('NFD')]) {
      expect(await compare({ q: [...q].slice(0, 100).join('') }), q).toBeGreaterThan(0);
    }
  });

  test('by any two characters of a Japanese title', async () => {
    const [word] = /[\u30a0-\u30ff]{5}/.exec(firstTitle(/[\u30a0-\u30ff]{5}/)) ?? [''];
    for (let at = 0; at + 2 <= word.length; at++) {
      expect(await compare({ q: word.slice(at, at + 2) })).toBeGreaterThan(0);
    }
    expect(word).toHaveLength(5);
  });

  test.each([
    ['final fantasy 7', 'exact'],
    ['resident evil iv', 'exact'],
    ['starfox', 'exact'],
    ['golden eye', 'exact'],
    ['nhl94', 'exact'],
    ['mother 3', 'exact'],
    ['stalker', 'exact'],
    ['rc pro am', 'exact'],
    ['ratchet and clank', 'exact'],
    ['super mario brothers', 'exact'],
    ['doubutsu no mori', 'exact'],
    ['ぞうぶつの森', 'near'],
    ['chrono tirgger', 'near'],
    ['tetris nes', 'platform'],
    ['zelda snes', 'platform'],
    ['doom ps1 game', 'partial'],
  ])('by %s: %s', async (q, step) => {
    for (const sort of SORTS) expect(await compare({ q, sort })).toBeGreaterThan(0);
    expect((await ask({ q })).step).toBe(step);
  });
});

test('a query of nothing but punctuation finds nothing', async () => {
  expect(await compare({ q: '!!! ---' })).toBe(0);
  expect(await compare({ q: ' ' })).toBe(reference.games.length);
});
