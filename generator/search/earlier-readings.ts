/**
 * The readings of an earlier generation, made from its word index. A game with the same slug and titles has
 * the same readings, and to take them from there costs a tenth of splitting its titles into words.
 */
import { firstIndex } from '../../format/index/first-index.ts';
import { MOST_POSITIONS, makeReadingWords } from '../../format/index/reading-words.ts';
import { openWordIndex, textAt, textCount } from '../../format/index/search-index.ts';
import { WORD_INDEX } from '../../format/layout.ts';
import type { ManifestFile } from '../../format/manifest.ts';
import { readColumns } from '../../store/files/checked-columns.ts';
import { LEFT_OUT } from '../columns/catalogue.ts';
import type { RelatedGames } from '../reuse/reuse.ts';
import { cachedRowOf } from '../reuse/row-tracks.ts';
import { freeMemory } from '../worker/free-memory.ts';

/** The readings of a game. */
export interface ReadingsOfGame<Word> {
  /** That of its title comes first; no other is empty, and no two are equal. */
  readonly readings: readonly (readonly Word[])[];
  /** Whether the last one is the words of its slug, and of none of its titles. */
  readonly endsWithSlug: boolean;
}

/**
 * @param related the alternative titles must be those of the earlier run, too
 * @param numberOf returns the number of a word in a string table of this run
 * @returns a function that returns the readings of the game in a row, as numbers of their words, or
 * undefined if they must be made from its titles
 * @throws Error if the word index is damaged
 */
export function openEarlierReadings(
  { earlier, relation, hasSamePathAndTitle }: RelatedGames,
  numberOf: (word: string) => number,
): (row: number) => ReadingsOfGame<number> | undefined {
  const file = earlier.files.find(({ path }) => path === WORD_INDEX);
  if (file === undefined) return () => undefined;
  const games = earlier.rowOfRank.length;
  const { texts, words, start, rankOfFurther, slugReadings } = readReadings(
    earlier.dir,
    file,
    games,
  );
  freeMemory();
  const rankOf = new Uint32Array(relation.cachedRows);
  earlier.rowOfRank.forEach((row, rank) => {
    rankOf[row] = rank;
  });
  const ofSlug = new Uint8Array(rankOfFurther.length);
  for (const reading of slugReadings) ofSlug[reading - games] = 1;
  const numbers = new Uint32Array(textCount(texts)).fill(LEFT_OUT);

  function numberOfEarlier(word: number): number {
    if (numbers[word] === LEFT_OUT) numbers[word] = numberOf(textAt(texts, word));
    return numbers[word];
  }

  function reading(number: number): number[] {
    return Array.from(words.subarray(start[number], start[number + 1]), numberOfEarlier);
  }

  return (row) => {
    if (hasSamePathAndTitle[row] === 0) return undefined;
    const rank = rankOf[cachedRowOf(relation, row)];
    const readings = [reading(rank)];
    const further = rankOfFurther.length;
    const first = firstIndex(0, further, (at) => rankOfFurther[at] >= rank);
    let end = first;
    for (; end < further && rankOfFurther[end] === rank; end++) readings.push(reading(games + end));
    // The words after those with a position are not in their order.
    if (readings.some(({ length }) => length >= MOST_POSITIONS)) return undefined;
    return { readings, endsWithSlug: end > first && ofSlug[end - 1] === 1 };
  };
}

/** The words of all readings, and their texts. The rest of the word index does not stay in memory. */
function readReadings(dir: string, file: ManifestFile, games: number) {
  const index = openWordIndex(readColumns(dir, file, ArrayBuffer));
  const { text, textStart } = index.words;
  return {
    ...makeReadingWords({ ...index, games }),
    texts: { text, textStart },
    rankOfFurther: index.rankOfFurther,
    slugReadings: index.slugReadings,
  };
}
