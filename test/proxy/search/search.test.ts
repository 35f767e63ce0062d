/**
 * The query engine against a plain reference over the same rows, through the real proxy: 2,000
 * seeded random queries over all parameters, totals and items both.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { wordsOf } from '../../../format/index/words.ts';
import { makeRandom } from '../../catalogue/random.ts';
import { seededCatalogue } from '../../catalogue/seeded.ts';
import { makeSnapshots } from '../../catalogue/snapshots.ts';
import { type RunningProxy, send, startProxy, testKey, writeKeys } from '../../support/product.ts';
import {
  type ReferenceGame,
  type ReferenceQuery,
  referenceGames,
  referenceSearch,
} from './search-reference.ts';

const QUERIES = 2_000;
const key = testKey(1);
let proxy: RunningProxy;
let games: ReferenceGame[];

beforeAll(async () => {
  const catalogue = seededCatalogue({ games: 3_000, seed: 7 });
  games = referenceGames(catalogue);
  const snapshotsDir = await makeSnapshots(catalogue);
  writeKeys(snapshotsDir, [key]);
  proxy = await startProxy(snapshotsDir);
});

afterAll(async () => {
  await proxy.stop();
});

interface Paged extends ReferenceQuery {
  readonly page?: string;
  readonly per_page?: string;
}

async function ask(query: Paged) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, value);
  }
  const reply = await send(`${proxy.url}/api/v1/search?${parameters}`, {
    headers: { 'x-api-key': key.key },
  });
  expect(reply.status, String(parameters)).toBe(200);
  return reply.json;
}

function expected(query: Paged) {
  const hits = referenceSearch(games, query);
  const page = Number(query.page ?? 1);
  const perPage = Number(query.per_page ?? 50);
  return {
    total: hits.length,
    ids: hits.slice((page - 1) * perPage, page * perPage).map(({ id }) => id),
  };
}

async function compare(query: Paged): Promise<number> {
  const found = await ask(query);
  const { total, ids } = expected(query);
  const label = JSON.stringify(query);
  expect(found.total, label).toBe(total);
  expect(
    found.data.map((game: { id: number }) => String(game.id)),
    label,
  ).toEqual(ids);
  return total;
}

function randomQueries(count: number): Paged[] {
  const { next, below, pick } = makeRandom(20_250);
  const platforms = [...new Set(games.map(({ platform }) => platform))];
  const regions = [...new Set(games.flatMap((game) => [...game.regions]))];
  const types = [...new Set(games.flatMap((game) => [...game.types]))];
  const genres = games.flatMap(({ genres: text }) => (text === null ? [] : [text]));
  const letters = 'abcdefghijklmnopqrstuvwxyz0123456789';
  const misspell = (word: string) => {
    const at = below(word.length);
    const letter = letters[below(letters.length)];
    return pick([
      word.slice(0, at) + letter + word.slice(at),
      word.slice(0, at) + word.slice(at + 1),
      word.slice(0, at) + letter + word.slice(at + 1),
    ]);
  };
  const recase = (text: string) => pick([text, text.toUpperCase(), text.toLowerCase()]);
  const queryText = () => {
    const { title, words } = pick(games);
    if (words.length === 0) return title;
    const some = words.filter(() => next() < 0.6);
    const last = words.at(-1) as string;
    return pick([
      () => title.slice(0, 100),
      () => some.join(' '),
      () => last.slice(0, 1 + below(last.length)),
      () => letters[below(letters.length)],
      () => `${letters[below(26)]}${letters[below(26)]}`,
      () => misspell(pick(words)),
      () => misspell(misspell(pick(words))),
      () => words.map((word) => (next() < 0.3 ? misspell(word) : word)).join(' '),
      () => `${pick(words)} ${pick(pick(games).words.concat('the'))}`,
      () => recase(words.slice(0, 2).join('-')),
      () => {
        const characters = [...title];
        const at = below(characters.length);
        return characters.slice(at, at + 2 + below(4)).join('');
      },
      () => pick(['the', '!!!', '2', 'of the', 'no such words here', "'", 'ー']),
    ])();
  };
  const maybe = <T>(share: number, make: () => T): T | undefined =>
    next() < share ? make() : undefined;
  return Array.from({ length: count }, () => {
    const genre = maybe(0.2, () => {
      if (genres.length === 0 || next() < 0.1) return 'no such genre';
      const text = pick(genres);
      const at = below(text.length);
      return recase(text.slice(at, at + 1 + below(8)));
    });
    const text = maybe(0.8, queryText);
    return {
      // A query is cut as a person would count, in characters.
      q: text === undefined ? undefined : [...text].slice(0, 100).join(''),
      platform: maybe(0.25, () => (next() < 0.1 ? 'nowhere' : recase(pick(platforms)))),
      region: maybe(0.2, () => (next() < 0.1 ? 'Atlantis' : recase(pick(regions)))),
      type: maybe(0.2, () => (next() < 0.1 ? 'lid' : recase(pick(types)))),
      genre: genre === '' ? undefined : genre,
      sort: maybe(0.7, () => pick(['title_asc', 'title_desc', 'year_asc', 'year_desc'])),
      ...(next() < 0.4 ? { page: String(1 + below(5)) } : {}),
      ...(next() < 0.5 ? { per_page: String(1 + below(100)) } : {}),
    };
  });
}

test(`agrees with the reference on ${QUERIES} random queries`, { timeout: 300_000 }, async () => {
  const totals: number[] = [];
  for (const query of randomQueries(QUERIES)) totals.push(await compare(query));
  // Queries that find nothing, or everything, would prove little.
  expect(totals.filter((total) => total > 0 && total < games.length).length).toBeGreaterThan(
    QUERIES / 3,
  );
});

describe('a game is found', () => {
  const firstWith = (pattern: RegExp) =>
    games.find(({ title }) => pattern.test(title)) as ReferenceGame;

  test('by its title whatever the case, accents and apostrophes', async () => {
    const accented = firstWith(/[éèüöñç]/i);
    const plain = accented.title.normalize('NFD').replace(/[\u0300-\u036f]/g, '');
    for (const q of [accented.title, plain, plain.toUpperCase(), accented.title.normalize('NFD')]) {
      const query = { q: [...q].slice(0, 100).join('') };
      expect(await compare(query), q).toBeGreaterThan(0);
    }
  });

  test('by any two characters of a Japanese title', async () => {
    const { words } = firstWith(/[\u30a0-\u30ff]{5}/);
    const word = words.find((candidate) => /^[\u30a0-\u30ff]{5}/.test(candidate)) as string;
    for (let at = 0; at + 2 <= word.length; at++) {
      expect(await compare({ q: word.slice(at, at + 2) })).toBeGreaterThan(0);
    }
  });

  test('by a near spelling only where nothing matches as it stands', async () => {
    const word = games
      .flatMap((game) => game.words)
      .find((text) => /^[a-z]{9,}$/.test(text)) as string;
    expect(await compare({ q: `${word.slice(0, 4)}${word.slice(5)}` })).toBeGreaterThan(0);
    expect(await compare({ q: 'zqxj' })).toBe(0);
  });
});

test('every title order there is has every game exactly once, on every page size', async () => {
  for (const sort of ['title_asc', 'title_desc', 'year_asc', 'year_desc']) {
    const all: string[] = [];
    const perPage = sort === 'title_asc' ? 7 : 100;
    for (let page = 1; ; page++) {
      const found = await ask({ sort, page: String(page), per_page: String(perPage) });
      all.push(...found.data.map((game: { id: number }) => String(game.id)));
      if (page >= found.total_pages) break;
    }
    expect(all).toEqual(referenceSearch(games, { sort }).map(({ id }) => id));
  }
});

test('a query of nothing but punctuation says nothing: every game', async () => {
  expect(wordsOf('!!! ---')).toEqual([]);
  expect(await compare({ q: '!!! ---' })).toBe(games.length);
});
