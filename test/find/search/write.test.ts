/**
 * What the generator writes for searches: the variants of titles, and `search.json`, which is written without
 * MiniSearch, but others load it with MiniSearch: it must equal what MiniSearch itself would write.
 */

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import MiniSearch from 'minisearch';
import { expect, test } from 'vitest';
import { sampleCatalogue } from '#demo/catalogue/sample.ts';
import { MINISEARCH_OPTIONS } from '#find/search/minisearch.ts';
import { openSearch } from '#find/search/open.ts';
import { makeCollator } from '#generator/rows/values.ts';
import { textAt } from '#lib/columns/postings.ts';
import type { Row } from '#lib/database/database.ts';
import { openFindFiles } from '#lib/format/index/index-file.ts';
import { CURRENT } from '#lib/format/layout.ts';
import { titledCatalogue } from '#test/catalogue/plain.ts';
import { makeSnapshots } from '#test/catalogue/snapshots.ts';

/** By slug. Those that give no new variant do not count. */
const ALTERNATIVE_TITLES: Readonly<Record<string, readonly string[]>> = {
  sml: ['マリオ & コ', 'S.M.L.', 'SML', 'SUPER MARIO LAND', '!!!', 'ﾏﾘｵ ｺ'],
  nothing: ['Dots'],
  tetris: ['Tetris'],
  '-': ['What?'],
};

const LONG = Array.from({ length: 300 }, (_, at) => `w${at % 290}`);
const NA = Array.from({ length: 400 }, () => 'na');

/** The variants of titles, separated by "|"; an empty one is that of a title without a word. */
const GAMES: readonly (readonly [slug: string, title: string, titles: string, ofSlug?: string])[] =
  [
    ['chrono-trigger', 'Chrono Trigger', 'chrono trigger'],
    // Variants with "and" and with joined initials come first.
    ['joe-and-mac', 'Joe & Mac', 'joe and mac|joe mac'],
    ['stalker', 'S.T.A.L.K.E.R.', 'stalker|s t a l k e r'],
    ['rc', 'R.C. & Co.', 'rc and co|r c co'],
    ['c-plus-plus', 'C++', 'c++'],
    // Words that are repeated, in the first variant and in a further one.
    ['go', 'Go! Go & Go', 'go go and go|go go go'],
    // Without a Latin letter: the slug, after the variants of the titles.
    ['mori', 'どうぶつの森 & 海', 'ドウブツノ森 and 海|ドウブツノ森 海', 'mori'],
    ['dq-dq', 'ドラゴンクエスト 2', 'ドラゴンクエスト 2', 'dq dq'],
    // Also where only a part of the title is not Latin.
    ['dq-iii', 'ドラゴンクエストIII', 'ドラゴンクエスト iii', 'dq iii'],
    // A slug that has the words of an alternative title adds no further variant.
    ['tetris', 'Тетрис', 'тетрис|tetris'],
    // Alternative titles come by code unit.
    ['sml', 'Super Mario Land', 'super mario land|sml|s m l|マリオ and コ|マリオ コ'],
    // A title without a word has an empty variant.
    ['nothing', '......', '|dots', 'nothing'],
    // No other variant is empty, and none is stored twice.
    ['1942', '1942', '1942'],
    ['--', '三国志', '三国志'],
    ['and', '&', 'and'],
    ['chk-chk', '!!!', '', 'chk chk'],
    ['~', '???', ''],
    ['-', '?!', '|what'],
    ['long', LONG.join(' '), LONG.join(' ')],
    ['longer', NA.join(' & '), `${NA.join(' and ')}|${NA.join(' ')}`],
  ];

test('the variants of titles have all their words, in order', async () => {
  const catalogue = {
    ...titledCatalogue(GAMES),
    gameTitles: GAMES.flatMap(([slug], at) =>
      (ALTERNATIVE_TITLES[slug] ?? []).map((title): Row => [at + 1, title]),
    ),
  };
  const generation = path.join(await makeSnapshots(catalogue), CURRENT);
  const files = openFindFiles((name) => new Uint8Array(readFileSync(path.join(generation, name))));
  const index = openSearch(files, GAMES.length);
  const { words, start } = index.variants;
  const textOf = (variant: number) =>
    Array.from(words.subarray(start[variant], start[variant + 1]), (word) =>
      textAt(index.words, word),
    ).join(' ');
  const found = gamesInOrder(generation).map(({ slug }, rank) => {
    const further = [...index.rankOfFurther.keys()]
      .filter((at) => index.rankOfFurther[at] === rank)
      .map((at) => index.games + at);
    const isOfSlug = (variant: number) => index.slugVariants.includes(variant);
    const ofTitles = [rank, ...further.filter((variant) => !isOfSlug(variant))].map(textOf);
    return [slug, ofTitles, further.filter(isOfSlug).map(textOf)];
  });
  const expected = GAMES.map(([slug, , titles, ofSlug]) => [
    ...[slug, titles.split('|'), ofSlug === undefined ? [] : [ofSlug]],
  ]);
  expect(found).toHaveLength(expected.length);
  expect(found).toEqual(expect.arrayContaining(expected));
});

const DIFFICULT_TITLES = [
  ...['!!!', '…', 'go go go GO gó', `${'na '.repeat(160)}batman`, '__proto__ constructor toString'],
  ...['ドラゴンクエスト ドラゴンクエスト', 'アタックNo.1 アタック', '\u{20000}\u{20001}𠮷野家'],
  ...['3½ 007 7 ７', "Assassin's Creed™ Ⅲ", 'Ærøskøbing ß ẞ İı', '🎮 game 🎮'],
  // Of several variants, the first counts.
  ...['Go & Go', 'S.T.A.L.K.E.R.', 'R.B.I. & C++', 'ゴー & ゴー'],
];

const byTerm = (a: [string, unknown], b: [string, unknown]) => (a[0] < b[0] ? -1 : 1);

test.each([
  ['the sample catalogue', sampleCatalogue()],
  ['difficult titles', titledCatalogue(DIFFICULT_TITLES.map((title, i) => [`g${i}`, title]))],
  ['no games', titledCatalogue([])],
])('search.json of %s equals what MiniSearch writes', async (_, catalogue) => {
  const generation = path.join(await makeSnapshots(catalogue), 'current');
  const text = readFileSync(path.join(generation, 'search.json'), 'utf8');
  const documents = gamesInOrder(generation).map(({ slug, ...game }) => {
    return { ...game, path: `${game.platform}/${slug}` };
  });
  // After addAll in title order.
  const built = new MiniSearch(MINISEARCH_OPTIONS);
  built.addAll(documents);
  const written = JSON.parse(text);
  const expected = JSON.parse(JSON.stringify(built));
  written.index.sort(byTerm);
  expected.index.sort(byTerm);
  expect(written).toEqual(expected);

  expect(MiniSearch.loadJSON(text, MINISEARCH_OPTIONS).documentCount).toBe(documents.length);
});

/** The games of a generation in title order, sorted by the collator, which defines that order. */
function gamesInOrder(generation: string) {
  const collator = makeCollator();
  return readdirSync(path.join(generation, 'games'))
    .flatMap((name) => JSON.parse(readFileSync(path.join(generation, 'games', name), 'utf8')))
    .map(({ id, slug, title, platform }) => ({ id, slug, title, platform: platform.slug }))
    .sort(
      (a, b) =>
        collator.compare(a.title, b.title) ||
        (a.platform < b.platform ? -1 : a.platform > b.platform ? 1 : a.id - b.id),
    );
}
