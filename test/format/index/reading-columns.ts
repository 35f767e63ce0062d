/** The columns of readings, made from lists of words in the simplest way, to compare with the code. */
import type { SearchIndex } from '../../../format/index/search-index.ts';
import { startsOf } from './index-columns.ts';

export type Reading = readonly string[];

/** How many words of a reading have a position. */
const POSITIONS = 255;

type ReadingColumns = Omit<
  SearchIndex,
  'endings' | 'regions' | 'types' | 'genres' | 'years' | 'yearOfRank' | 'ranksByYear' | 'yearStart'
>;

/**
 * @param first the first reading of each game, in title order
 * @param further the other readings, each with the rank of its game, and whether it is that of the slug
 */
export function makeReadingColumns(
  first: readonly Reading[],
  further: readonly (readonly [rank: number, words: Reading, isSlug?: boolean])[] = [],
): ReadingColumns {
  const readings = [...first, ...further.map(([, words]) => words)];
  const texts = [...new Set(readings.flat())].sort();
  const entries: number[] = [];
  const entriesStart = [0];
  const positions: number[] = [];
  for (const text of texts) {
    for (const [reading, words] of readings.entries()) {
      if (!words.includes(text)) continue;
      entries.push(reading);
      positions.push(Math.min(words.indexOf(text), POSITIONS));
    }
    entriesStart.push(entries.length);
  }
  const repeated = readings.flatMap((words, reading) =>
    words
      .slice(0, POSITIONS)
      .flatMap((word, at) => (words.indexOf(word) < at ? [reading, at, texts.indexOf(word)] : [])),
  );
  return {
    games: first.length,
    words: {
      text: Uint16Array.from(texts.join('').split(''), (unit) => unit.charCodeAt(0)),
      textStart: startsOf(texts.map((text) => text.length)),
      entries: Uint32Array.from(entries),
      entriesStart: Uint32Array.from(entriesStart),
    },
    wordPositions: Uint8Array.from(positions),
    repeatedWords: Uint32Array.from(repeated),
    rankOfFurther: Uint32Array.from(further, ([rank]) => rank),
    slugReadings: Uint32Array.from(
      [...further.keys()].filter((at) => further[at][2] === true),
      (at) => first.length + at,
    ),
    readingsByWords: Uint32Array.from(
      [...readings.keys()].sort((a, b) => compareWords(readings[a], readings[b]) || a - b),
    ),
  };
}

/** Compares the words that have a position, by code unit. */
export function compareWords(one: Reading, other: Reading): number {
  const length = Math.min(POSITIONS, one.length);
  const otherLength = Math.min(POSITIONS, other.length);
  for (let at = 0; at < Math.min(length, otherLength); at++) {
    if (one[at] !== other[at]) return one[at] < other[at] ? -1 : 1;
  }
  return length - otherLength;
}
