/**
 * Which readings the generator indexes, and how. The columns of real generations are compared with
 * columns that are made from lists of words in the simplest way.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import type { Row } from '../../../database/database.ts';
import { makeReadingWords } from '../../../format/index/reading-words.ts';
import { equals, needsSlug, readingsOf } from '../../../format/index/readings.ts';
import {
  entriesAt,
  openSearchIndex,
  type Postings,
  textAt,
  textCount,
} from '../../../format/index/search-index.ts';
import { isScriptWithoutSpaces, LONGEST_QUERY, plainWordsOf } from '../../../format/index/words.ts';
import { CURRENT } from '../../../format/layout.ts';
import { getOrAdd } from '../../../generator/get-or-add.ts';
import type { Catalogue } from '../../catalogue/catalogue.ts';
import { titledCatalogue } from '../../catalogue/plain.ts';
import { sampleCatalogue } from '../../catalogue/sample.ts';
import { makeSnapshots } from '../../catalogue/snapshots.ts';
import { makeReadingColumns, type Reading } from '../../format/index/reading-columns.ts';
import { gamesInOrder } from './games-in-order.ts';

type Indexed = Awaited<ReturnType<typeof indexed>>;

/** @returns the search index of a generation, and its games in title order */
async function indexed(catalogue: Catalogue) {
  const generation = path.join(await makeSnapshots(catalogue), CURRENT);
  const read = (name: string) => new Uint8Array(readFileSync(path.join(generation, name)));
  return { index: openSearchIndex(read), games: gamesInOrder(generation) };
}

/** Every suffix of at least two characters of the words in scripts without spaces, with the readings. */
function endingsOf(readings: readonly Reading[]): Record<string, number[]> {
  const found = new Map<string, Set<number>>();
  for (const [reading, words] of readings.entries()) {
    for (const word of words.filter(isScriptWithoutSpaces)) {
      const characters = [...word];
      for (const from of characters.slice(1).keys()) {
        const ending = characters.slice(from, from + LONGEST_QUERY).join('');
        getOrAdd(found, ending, () => new Set()).add(reading);
      }
    }
  }
  return Object.fromEntries([...found].map(([text, numbers]) => [text, [...numbers]]));
}

function textsOf(list: Postings): Record<string, number[]> {
  const texts = Array.from({ length: textCount(list) }, (_, at) => at);
  return Object.fromEntries(texts.map((at) => [textAt(list, at), [...entriesAt(list, at)]]));
}

interface Expected {
  /** The first may be empty. */
  readonly ofTitles: readonly Reading[];
  readonly ofSlug?: Reading | undefined;
}

/** @param readingsOfGame what the readings of a game should be */
function expectReadings(
  { index, games }: Indexed,
  readingsOfGame: (game: Indexed['games'][number]) => Expected,
): void {
  const all = games.map(readingsOfGame);
  const first = all.map(({ ofTitles: [reading] }) => reading);
  const further = all.flatMap(({ ofTitles, ofSlug }, rank) => [
    ...ofTitles.slice(1).map((words): [number, Reading] => [rank, words]),
    ...(ofSlug === undefined ? [] : [[rank, ofSlug, true] as const]),
  ]);
  const { games: count, words, ...columns } = makeReadingColumns(first, further);
  expect(index.games).toBe(count);
  expect(textsOf(index.words)).toEqual(textsOf(words));
  expect(index.words).toEqual(words);
  expect(index).toMatchObject(columns);
  expect(textsOf(index.endings)).toEqual(
    endingsOf([...first, ...further.map(([, reading]) => reading)]),
  );
}

/** By slug. Those that give no new reading do not count. */
const ALTERNATIVE_TITLES: Readonly<Record<string, readonly string[]>> = {
  sml: ['マリオ & コ', 'S.M.L.', 'SML', 'SUPER MARIO LAND', '!!!', 'ﾏﾘｵ ｺ'],
  nothing: ['Dots'],
  tetris: ['Tetris'],
  '-': ['What?'],
};

const LONG = Array.from({ length: 300 }, (_, at) => `w${at % 290}`);
const NA = Array.from({ length: 400 }, () => 'na');

/** The readings of titles, separated by "|"; an empty one is that of a title without a word. */
const GAMES: readonly (readonly [slug: string, title: string, titles: string, ofSlug?: string])[] =
  [
    ['chrono-trigger', 'Chrono Trigger', 'chrono trigger'],
    // Readings with "and" and with joined initials come first.
    ['joe-and-mac', 'Joe & Mac', 'joe and mac|joe mac'],
    ['stalker', 'S.T.A.L.K.E.R.', 'stalker|s t a l k e r'],
    ['rc', 'R.C. & Co.', 'rc and co|r c co'],
    ['c-plus-plus', 'C++', 'c++'],
    // Words that are repeated, in the first reading and in a further one.
    ['go', 'Go! Go & Go', 'go go and go|go go go'],
    // Without a Latin letter: the slug, after the readings of the titles.
    ['mori', 'どうぶつの森 & 海', 'ドウブツノ森 and 海|ドウブツノ森 海', 'mori'],
    ['dq-dq', 'ドラゴンクエスト 2', 'ドラゴンクエスト 2', 'dq dq'],
    // Also where only a part of the title is not Latin.
    ['dq-iii', 'ドラゴンクエストIII', 'ドラゴンクエスト iii', 'dq iii'],
    // A slug that has the words of an alternative title is no reading of its own.
    ['tetris', 'Тетрис', 'тетрис|tetris'],
    // Alternative titles come by code unit.
    ['sml', 'Super Mario Land', 'super mario land|sml|s m l|マリオ and コ|マリオ コ'],
    // A title without a word has an empty reading.
    ['nothing', '......', '|dots', 'nothing'],
    // No other reading is empty, and none is stored twice.
    ['1942', '1942', '1942'],
    ['--', '三国志', '三国志'],
    ['and', '&', 'and'],
    ['chk-chk', '!!!', '', 'chk chk'],
    ['~', '???', ''],
    ['-', '?!', '|what'],
    // Only 255 words of a reading have a position.
    ['long', LONG.join(' '), LONG.join(' ')],
    ['longer', NA.join(' & '), `${NA.join(' and ')}|${NA.join(' ')}`],
  ];
const wordsIn = (reading: string): Reading => reading.split(' ').filter((word) => word !== '');

test('the readings of titles are indexed with the positions of their words, and read again', async () => {
  const made = await indexed({
    ...titledCatalogue(GAMES),
    gameTitles: GAMES.flatMap(([slug], at) =>
      (ALTERNATIVE_TITLES[slug] ?? []).map((title): Row => [at + 1, title]),
    ),
  });
  const readings = new Map(
    GAMES.map(([slug, , titles, ofSlug]): [string, Expected] => [
      slug,
      { ofTitles: titles.split('|').map(wordsIn), ofSlug: ofSlug ? wordsIn(ofSlug) : undefined },
    ]),
  );
  expectReadings(made, ({ slug }) => readings.get(slug) as Expected);

  const { words, start } = makeReadingWords(made.index);
  const rank = made.games.findIndex(({ slug }) => slug === 'long');
  const spelled = [...words.subarray(start[rank], start[rank + 1])];
  expect(spelled.map((word) => textAt(made.index.words, word))).toEqual(LONG.slice(0, 255));
});

// The test above has alternative titles.
const { gameTitles: _, ...sample } = sampleCatalogue();

test('all readings of the sample catalogue are indexed', async () => {
  const made = await indexed(sample);
  expect(made.index.rankOfFurther.length).toBeGreaterThan(10);
  expect(made.index.repeatedWords.length).toBeGreaterThan(10);
  expectReadings(made, ({ slug, title }) => {
    const ofTitles = readingsOf(title);
    const ofSlug = plainWordsOf(slug);
    const isNew = needsSlug(title) && !ofTitles.some((reading) => equals(reading, ofSlug));
    return isNew ? { ofTitles, ofSlug } : { ofTitles };
  });
});
