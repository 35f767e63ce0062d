/**
 * Checks all values of the search index that a search relies on: every number refers to something that exists, and
 * what is bisected is in order. A valid SHA-256 shows only that a file is the one that was written, not that
 * {@link ./write.ts} wrote it. The time grows linearly with the index.
 */
import { compareSlices } from '../../lib/columns/arrays.ts';
import { checkAscending, checkEach, checkStarts, damaged } from '../../lib/columns/checks.ts';
import { checkPostings } from '../../lib/columns/postings.ts';
import type { FilterIndex, WordIndex } from './open.ts';
import { filterRow, VALUE_FILTER_NAMES } from './value-filters.ts';

interface HasGames {
  readonly games: number;
}

/** @param file the name of the file of filters */
export function checkFilters(index: FilterIndex & HasGames, file: string): void {
  const { games, years, yearOfRank } = index;
  for (const name of VALUE_FILTER_NAMES) {
    const { list } = filterRow(name);
    checkPostings(index[list], games, file, list);
  }
  checkEach(years.length, file, 'its years do not ascend', (at) => {
    return at === 0 || years[at] > years[at - 1];
  });
  checkEach(games, file, '"yearOfRank" names a year that does not exist', (rank) => {
    return yearOfRank[rank] <= years.length;
  });
}

/** @param file the name of the file of words */
export function checkWords(index: WordIndex & HasGames, file: string): void {
  const { games, words, variants, rankOfFurther, slugVariants, variantsByWords } = index;
  const count = variantsByWords.length;
  checkPostings(words, count, file, 'words');
  checkPostings(index.endings, count, file, 'endings');
  const wrongRanks = `the ranks of "rankOfFurther" do not ascend below ${games}`;
  checkEach(rankOfFurther.length, file, wrongRanks, (at) => {
    return rankOfFurther[at] < games && (at === 0 || rankOfFurther[at] >= rankOfFurther[at - 1]);
  });
  const wrongSlugs = `"slugVariants" does not ascend from ${games} to ${count}`;
  checkAscending(slugVariants, 0, slugVariants.length, count, file, wrongSlugs);
  if (slugVariants[0] < games) throw damaged(file, wrongSlugs);
  checkStarts(variants.start, variants.words.length, file, 'variants.start');
  checkVariants(index, file);
  const seen = new Uint8Array(count);
  const wrongOrder = '"variantsByWords" does not hold every variant once, in order';
  checkEach(count, file, wrongOrder, (at) => {
    const variant = variantsByWords[at];
    if (variant >= count || seen[variant] === 1) return false;
    seen[variant] = 1;
    const before = variantsByWords[at - 1];
    return at === 0 || compareSlices(variants.words, variants.start, before, variant) <= 0;
  });
}

/** Checks that "words" lists for each word exactly the variants that have it. */
function checkVariants({ words, variants }: WordIndex, file: string): void {
  const { entries, entriesStart } = words;
  // For each word, where its next entry is.
  const next = entriesStart.slice(0, -1);
  const unlisted = '"words" does not list a variant for each of its words';
  checkEach(variants.start.length - 1, file, unlisted, (variant) => {
    for (let at = variants.start[variant]; at < variants.start[variant + 1]; at++) {
      const word = variants.words[at];
      if (word >= next.length) return false;
      const isNext = next[word] < entriesStart[word + 1] && entries[next[word]] === variant;
      if (isNext) next[word]++;
      else if (next[word] === entriesStart[word] || entries[next[word] - 1] !== variant)
        return false;
    }
    return true;
  });
  checkEach(next.length, file, '"words" lists a word for a variant without it', (word) => {
    return next[word] === entriesStart[word + 1];
  });
}
