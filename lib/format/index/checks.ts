/**
 * Checks all values of the record index and the search index that a reader relies on: every number refers
 * to something that exists, every record lies inside its pack, and what is searched is in order. A valid
 * SHA-256 shows only that a file is the one that the manifest names, not that a generator made it. Each
 * check throws an error with the file and its first fault. The time grows linearly with the index.
 */

import type { Postings, SearchIndex } from '../../../find/search/open.ts';
import { compareSlices } from '../../columns/arrays.ts';
import { checkStarts, damaged } from '../../columns/container.ts';
import {
  COVER_INDEX,
  coversPack,
  FILTER_INDEX,
  GAME_INDEX,
  gamesPack,
  PATH_INDEX,
  PLATFORMS,
  WORD_INDEX,
} from '../layout.ts';
import { EMPTY_PACK, PACK_HEAD, PACK_TAIL, RECORD_SEPARATOR } from '../pack.ts';
import { compareIdsAt, type IdColumns } from './ids.ts';
import type { RecordColumns, RecordIndex } from './record-index.ts';

/** @param sizeOf returns the size of a file of the generation in bytes; undefined if it does not exist */
export function checkRecordIndex(
  { platforms, platformBySlug, games, covers }: RecordIndex,
  sizeOf: (path: string) => number | undefined,
): void {
  const { rank, gameOfRank, firstCover, slugStart, slugText, bySlug } = games;
  if (platformBySlug.size < platforms.length) throw damaged(PLATFORMS, 'a slug is there twice');
  checkStarts(slugStart, slugText.length, PATH_INDEX, 'slugStart');
  checkStarts(firstCover, covers.byteLength.length, GAME_INDEX, 'firstCover');
  checkEach(rank.length, PATH_INDEX, '"gameOfRank" does not lead back to each game', (game) => {
    return gameOfRank[rank[game]] === game;
  });
  for (const platform of platforms) {
    const { slug, firstGame, games: count } = platform;
    checkPack(games, GAME_INDEX, gamesPack(slug), firstGame, count, sizeOf);
    checkPack(covers, COVER_INDEX, coversPack(slug), platform.firstCover, platform.covers, sizeOf);
    if (firstCover[firstGame] !== platform.firstCover) {
      throw damaged(GAME_INDEX, `the covers of ${slug} do not begin with ${platform.firstCover}`);
    }
    checkEach(count, PATH_INDEX, `the games of ${slug} are not in title order`, (at) => {
      return at === 0 || rank[firstGame + at] > rank[firstGame + at - 1];
    });
    const wrongSlugs = `the games of ${slug} are not in the order of their slugs`;
    checkEach(count, PATH_INDEX, wrongSlugs, (at) => {
      const game = bySlug[firstGame + at];
      if (game < firstGame || game >= firstGame + count) return false;
      return at === 0 || compareSlices(slugText, slugStart, bySlug[firstGame + at - 1], game) < 0;
    });
  }
  checkIds(games, PATH_INDEX);
  checkIds(covers, COVER_INDEX);
}

/** Checks that the records of a platform follow one another in a pack without gaps and fill it. */
function checkPack(
  { byteOffset, byteLength }: RecordColumns,
  indexFile: string,
  pack: string,
  first: number,
  count: number,
  sizeOf: (path: string) => number | undefined,
): void {
  const size = sizeOf(pack);
  if (size === undefined) throw damaged(PLATFORMS, `there is no ${pack}`);
  let at = PACK_HEAD.length;
  for (let number = first; number < first + count; number++) {
    if (byteOffset[number] !== at) {
      throw damaged(indexFile, `record ${number} is not at byte ${at} of ${pack}`);
    }
    at += byteLength[number] + RECORD_SEPARATOR.length;
  }
  const end = count === 0 ? EMPTY_PACK.length : at - RECORD_SEPARATOR.length + PACK_TAIL.length;
  if (end !== size) {
    throw damaged(indexFile, `its records take ${end} bytes of ${pack}, which has ${size}`);
  }
}

function checkIds(columns: IdColumns, file: string): void {
  const { numberOfId } = columns;
  const count = numberOfId.length;
  checkEach(count, file, '"numberOfId" names a record that does not exist', (at) => {
    return numberOfId[at] < count;
  });
  checkEach(count, file, 'its ids do not ascend', (at) => {
    return at === 0 || compareIdsAt(columns, at, columns, at - 1) > 0;
  });
}

/** Checks the columns of `index/filters.bin`. */
export function checkFilters({ games, years, yearOfRank, ...index }: SearchIndex): void {
  checkPostings(index.regions, games, FILTER_INDEX, 'regions');
  checkPostings(index.types, games, FILTER_INDEX, 'types');
  checkPostings(index.genres, games, FILTER_INDEX, 'genres');
  checkEach(years.length, FILTER_INDEX, 'its years do not ascend', (at) => {
    return at === 0 || years[at] > years[at - 1];
  });
  checkEach(games, FILTER_INDEX, '"yearOfRank" names a year that does not exist', (rank) => {
    return yearOfRank[rank] <= years.length;
  });
}

/** Checks the columns of `index/words.bin`. */
export function checkWords(index: SearchIndex): void {
  const { games, words, variants, rankOfFurther, slugVariants, variantsByWords } = index;
  const count = variantsByWords.length;
  checkPostings(words, count, WORD_INDEX, 'words');
  checkPostings(index.endings, count, WORD_INDEX, 'endings');
  const wrongRanks = `the ranks of "rankOfFurther" do not ascend below ${games}`;
  checkEach(rankOfFurther.length, WORD_INDEX, wrongRanks, (at) => {
    return rankOfFurther[at] < games && (at === 0 || rankOfFurther[at] >= rankOfFurther[at - 1]);
  });
  const wrongSlugs = `"slugVariants" does not ascend from ${games} to ${count}`;
  checkAscending(slugVariants, 0, slugVariants.length, count, WORD_INDEX, wrongSlugs);
  if (slugVariants[0] < games) throw damaged(WORD_INDEX, wrongSlugs);
  checkStarts(variants.start, variants.words.length, WORD_INDEX, 'variants.start');
  checkVariants(index);
  const seen = new Uint8Array(count);
  const wrongOrder = '"variantsByWords" does not hold every variant once, in order';
  checkEach(count, WORD_INDEX, wrongOrder, (at) => {
    const variant = variantsByWords[at];
    if (variant >= count || seen[variant] === 1) return false;
    seen[variant] = 1;
    const before = variantsByWords[at - 1];
    return at === 0 || compareSlices(variants.words, variants.start, before, variant) <= 0;
  });
}

/** Checks that "words" lists for each word exactly the variants that have it. */
function checkVariants({ words, variants }: SearchIndex): void {
  const { entries, entriesStart } = words;
  // For each word, where its next entry is.
  const next = entriesStart.slice(0, -1);
  const unlisted = '"words" does not list a variant for each of its words';
  checkEach(variants.start.length - 1, WORD_INDEX, unlisted, (variant) => {
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
  checkEach(next.length, WORD_INDEX, '"words" lists a word for a variant without it', (word) => {
    return next[word] === entriesStart[word + 1];
  });
}

/** Checks that texts and the entries of each ascend, and that every entry is below a number. */
export function checkPostings(list: Postings, below: number, file: string, name: string): void {
  const { text, textStart, entries, entriesStart } = list;
  checkStarts(textStart, text.length, file, `${name}.textStart`);
  checkStarts(entriesStart, entries.length, file, `${name}.entriesStart`);
  checkEach(textStart.length - 1, file, `the texts of "${name}" do not ascend`, (at) => {
    return at === 0 || compareSlices(text, textStart, at - 1, at) < 0;
  });
  const fault = `the entries of a text of "${name}" do not ascend below ${below}`;
  for (let at = 0; at + 1 < entriesStart.length; at++) {
    checkAscending(entries, entriesStart[at], entriesStart[at + 1], below, file, fault);
  }
}

/** Checks that the values from one index (inclusive) to another (exclusive) ascend below a number. */
function checkAscending(
  values: Uint32Array,
  from: number,
  to: number,
  below: number,
  file: string,
  fault: string,
): void {
  let previous = -1;
  for (let at = from; at < to; at++) {
    if (values[at] <= previous || values[at] >= below) throw damaged(file, fault);
    previous = values[at];
  }
}

/** @param passes the test of each index below `count` */
function checkEach(
  count: number,
  file: string,
  fault: string,
  passes: (index: number) => boolean,
): void {
  for (let index = 0; index < count; index++) if (!passes(index)) throw damaged(file, fault);
}
