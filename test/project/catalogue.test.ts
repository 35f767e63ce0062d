/** The sample catalogue has the contents that tests, benchmarks and the demo rely on. */
import { describe, expect, test } from 'vitest';
import { isSlug } from '../../format/layout.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import { sampleCatalogue, slugOf } from '../catalogue/sample.ts';

type Column = readonly unknown[];

function column(rows: Iterable<readonly unknown[]>, index: number): Column {
  return [...rows].map((row) => row[index]);
}

function countsOf(values: Column): Map<unknown, number> {
  const counts = new Map<unknown, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

/** Fails unless ids and slugs are unique, slugs fit a path and every reference resolves. */
function expectSound(catalogue: Catalogue): void {
  for (const name of ['platforms', 'games', 'covers', 'coverFiles', 'accounts'] as const) {
    const ids = column(catalogue[name], 0);
    expect(new Set(ids).size, name).toBe(ids.length);
  }
  const slugs = [...column(catalogue.platforms, 1), ...column(catalogue.games, 2)];
  expect(slugs.filter((slug) => !isSlug(String(slug)))).toEqual([]);
  expect(new Set(column(catalogue.platforms, 1)).size).toBe([...catalogue.platforms].length);
  const paths = [...catalogue.games].map(([, platform, slug]) => `${platform}/${slug}`);
  expect(new Set(paths).size).toBe(paths.length);
  for (const [children, parentIndex, parents] of [
    ['games', 1, 'platforms'],
    ['covers', 1, 'games'],
    ['coverFiles', 1, 'covers'],
    ['gameTitles', 0, 'games'],
  ] as const) {
    const known = new Set(column(catalogue[parents], 0));
    const orphans = column(catalogue[children] ?? [], parentIndex).filter((id) => !known.has(id));
    expect(orphans, children).toEqual([]);
  }
}

describe('the sample catalogue', () => {
  const catalogue = sampleCatalogue();
  const games = [...catalogue.games];
  const covers = [...catalogue.covers];

  test('has unique ids and slugs, and every reference resolves', () => {
    expectSound(catalogue);
  });

  test('is small enough for a reader', () => {
    expect([...catalogue.platforms].length).toBeGreaterThanOrEqual(12);
    expect(games.length).toBeGreaterThanOrEqual(200);
    expect(games.length).toBeLessThanOrEqual(250);
    const perPlatform = countsOf(column(games, 1));
    const sizes = column(catalogue.platforms, 0).map((id) => perPlatform.get(id) ?? 0);
    expect(sizes.filter((size) => size >= 12).length).toBeGreaterThanOrEqual(12);
    // One platform has no games yet.
    expect(sizes.filter((size) => size === 0).length).toBe(1);
  });

  test('is the same at each call', () => {
    expect(sampleCatalogue()).toEqual(catalogue);
  });

  test('has titles that are hard to search, sort and print', () => {
    const titles = column(games, 3).map(String);
    for (const pattern of [
      /é/,
      /'s /,
      /!!/,
      /\.\.\.$/,
      /^\d+$/,
      /[ぁ-ゖ]/,
      /[ァ-ヺ]{5}/,
      /[一-鿿]/,
      /\p{Ll}³$/u,
      / VI$/,
      / – /,
      /&/,
      /^\./,
    ]) {
      expect(titles.filter((title) => pattern.test(title)).length, String(pattern)).toBeGreaterThan(
        0,
      );
    }
    expect(titles.filter((title) => title === 'Doom').length).toBeGreaterThanOrEqual(5);
  });

  test('has unknown values in each optional column', () => {
    for (const index of [4, 5, 6, 7, 8]) expect(column(games, index)).toContain(null);
    const years = column(games, 4).filter((year) => year !== null) as number[];
    expect(Math.min(...years)).toBeGreaterThan(1980);
    expect(Math.max(...years)).toBeLessThan(2015);
  });

  test('has covers in every state and games without covers', () => {
    const states = countsOf(column(covers, 4));
    expect([...states.keys()].sort()).toEqual(['approved', 'pending', 'rejected']);
    const withCovers = new Set(column(covers, 1));
    expect(games.some(([id]) => !withCovers.has(id))).toBe(true);
    const approved = covers.filter(([, , , , status]) => status === 'approved');
    const times = countsOf(column(approved, 5));
    expect(times.get(null)).toBeGreaterThan(5);
    expect([...times.values()].filter((count) => count > 1).length).toBeGreaterThan(5);
    // More than the hundred that /covers/recent lists.
    expect(approved.length - (times.get(null) ?? 0)).toBeGreaterThan(200);
    for (const [time] of times) {
      if (time !== null) expect(time).toMatch(/^20\d\d-[01]\d-[0-3]\d [0-2]\d:[0-5]\d:[0-5]\d$/);
    }
    expect(new Set(countsOf(column(catalogue.coverFiles, 1)).values())).toEqual(new Set([1, 2, 3]));
  });

  test('has the game of the documentation, with covers of each kind', () => {
    const game = games.find(([, , slug]) => slug === 'chrono-trigger');
    expect(game?.slice(3, 5)).toEqual(['Chrono Trigger', 1995]);
    const own = covers.filter(([, id]) => id === game?.[0]);
    const approved = own.filter(([, , , , status]) => status === 'approved');
    expect(approved.length).toBeGreaterThan(4);
    expect(column(approved, 2)).toContain(null);
    expect(column(approved, 3)).toContain(null);
    expect(column(own, 4)).toEqual(expect.arrayContaining(['pending', 'rejected']));
  });

  test('has alternative titles: short forms, and titles in another script', () => {
    const rows = [...(catalogue.gameTitles ?? [])];
    expect(rows.length).toBeGreaterThanOrEqual(60);
    expect(new Set(rows.map((row) => row.join('/'))).size).toBe(rows.length);
    const titleOf = new Map(games.map(([id, , , title]) => [id, String(title)]));
    const isKana = (text: string) => /[ぁ-ヺ]/.test(text);
    const pairs = rows.map(([id, title]) => [titleOf.get(id) ?? '', String(title)] as const);
    expect(pairs.filter(([own, title]) => own === title || title.trim() !== title)).toEqual([]);
    expect(pairs).toContainEqual(['Final Fantasy VII', 'FF7']);
    expect(pairs.filter(([own, title]) => isKana(title) && !isKana(own)).length).toBeGreaterThan(
      20,
    );
    expect(pairs.filter(([own, title]) => isKana(own) && !isKana(title)).length).toBeGreaterThan(5);
  });

  test.each([
    ["Assassin's Creed: Altaïr's Chronicles", 'assassins-creed-altairs-chronicles'],
    ['.hack//Infection', 'hack-infection'],
    ['Ōkami', 'okami'],
    ['NiGHTS into Dreams...', 'nights-into-dreams'],
  ])('turns "%s" into the slug %s', (title, slug) => {
    expect(slugOf(title)).toBe(slug);
  });
});
