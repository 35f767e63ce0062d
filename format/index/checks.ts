/**
 * Checks all values of the record index and the search index that a reader relies on: every number refers
 * to something that exists, every record lies inside its pack, and what is searched is in order. A valid
 * SHA-256 shows only that a file is the one that the manifest names, not that a generator made it. Each
 * check throws an error with the file and its first fault. The time grows linearly with the index.
 */
import {
  COVER_INDEX,
  coversPack,
  FILTER_INDEX,
  GAME_INDEX,
  gamesPack,
  isSlug,
  PATH_INDEX,
  PLATFORM_INDEX,
  PLATFORMS,
  WORD_INDEX,
} from '../layout.ts';
import { EMPTY_PACK, PACK_HEAD, PACK_TAIL, RECORD_SEPARATOR } from '../pack.ts';
import { checkStarts, damaged } from './columns.ts';
import { compareIdsAt, type IdColumns } from './ids.ts';
import { compareReadings, makeReadingWords, type ReadingWords } from './reading-words.ts';
import type { PlatformEntry, RecordColumns, RecordIndex } from './record-index.ts';
import {
  compareTexts,
  countReadings,
  FILTER_POSTINGS,
  type Postings,
  type SearchIndex,
  WORD_POSTINGS,
} from './search-index.ts';

/** @param sizeOf returns the size of a file of the generation in bytes; undefined if it does not exist */
export function checkRecordIndex(
  { platforms, games, covers }: RecordIndex,
  sizeOf: (path: string) => number | undefined,
): void {
  const { rank, gameOfRank, firstCover, slots } = games;
  checkPlatforms(platforms, sizeOf(PLATFORMS) ?? 0);
  checkStarts(games.slugStart, games.slugText.length, PATH_INDEX, 'slugStart');
  checkStarts(firstCover, covers.byteLength.length, GAME_INDEX, 'firstCover');
  checkEach(rank.length, PATH_INDEX, '"gameOfRank" does not lead back to each game', (game) => {
    return gameOfRank[rank[game]] === game;
  });
  for (const platform of platforms) {
    const { slug, first_game: first, first_cover: cover } = platform;
    checkPack(games, GAME_INDEX, gamesPack(slug), first, platform.games, sizeOf);
    checkPack(covers, COVER_INDEX, coversPack(slug), cover, platform.covers, sizeOf);
    if (firstCover[first] !== cover) {
      throw damaged(GAME_INDEX, `the covers of ${slug} do not begin with cover ${cover}`);
    }
    checkEach(platform.games, PATH_INDEX, `the games of ${slug} are not in title order`, (at) => {
      return at === 0 || rank[first + at] > rank[first + at - 1];
    });
  }
  checkSlots(slots, rank.length);
  checkIds(games, PATH_INDEX);
  checkIds(covers, COVER_INDEX);
}

function checkPlatforms(platforms: readonly PlatformEntry[], size: number): void {
  const slugs = new Set<string>();
  let game = 0;
  let cover = 0;
  for (const { slug, first_game, games, first_cover, covers, offset, length } of platforms) {
    const fault = (text: string) => damaged(PLATFORM_INDEX, `${JSON.stringify(slug)} ${text}`);
    // A slug becomes part of a header, and part of a path in the name of a pack.
    if (!isSlug(slug)) throw fault('is not a slug');
    if (slugs.has(slug)) throw fault('is there twice');
    slugs.add(slug);
    if (first_game !== game) throw fault(`has ${first_game} as its first game, not ${game}`);
    if (first_cover !== cover) throw fault(`has ${first_cover} as its first cover, not ${cover}`);
    if (offset + length > size) throw fault(`lies outside ${PLATFORMS}`);
    game += games;
    cover += covers;
  }
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
  if (size === undefined) throw damaged(PLATFORM_INDEX, `there is no ${pack}`);
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

/** At least half of the slots must be empty, since a look-up ends at an empty slot. */
function checkSlots(slots: Uint32Array, games: number): void {
  let taken = 0;
  for (let slot = 0; slot < slots.length; slot++) if (slots[slot] !== 0) taken++;
  if (slots.length < games * 2 || taken !== games) {
    throw damaged(PATH_INDEX, `${taken} of ${slots.length} slots are taken, by ${games} games`);
  }
  checkEach(slots.length, PATH_INDEX, 'a slot names a game that does not exist', (slot) => {
    return slots[slot] <= games;
  });
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

/** Checks the columns of `index/filters.bin`. @param games how many games the generation has */
export function checkFilters(index: SearchIndex, games: number): void {
  if (index.games !== games) {
    throw damaged(FILTER_INDEX, `it is made for ${index.games} games, the generation has ${games}`);
  }
  for (const name of FILTER_POSTINGS) checkPostings(index[name], games, FILTER_INDEX, name);
  const { years, yearOfRank, ranksByYear, yearStart } = index;
  checkStarts(yearStart, games, FILTER_INDEX, 'yearStart');
  checkEach(years.length, FILTER_INDEX, 'its years do not ascend', (at) => {
    return at === 0 || years[at] > years[at - 1];
  });
  // Each rank is there once, in the range of its year.
  const fault = '"ranksByYear" and "yearOfRank" do not agree';
  for (let year = 0; year <= years.length; year++) {
    checkAscending(ranksByYear, yearStart[year], yearStart[year + 1], games, FILTER_INDEX, fault);
    checkEach(yearStart[year + 1] - yearStart[year], FILTER_INDEX, fault, (at) => {
      return yearOfRank[ranksByYear[yearStart[year] + at]] === year;
    });
  }
}

/** Checks the columns of `index/words.bin`. @returns the words of every reading, which it needs anyway */
export function checkWords(index: SearchIndex): ReadingWords {
  const { games, rankOfFurther, slugReadings, readingsByWords } = index;
  const readings = countReadings(index);
  for (const name of WORD_POSTINGS) checkPostings(index[name], readings, WORD_INDEX, name);
  const wrongRanks = `the ranks of "rankOfFurther" do not ascend below ${games}`;
  checkEach(rankOfFurther.length, WORD_INDEX, wrongRanks, (at) => {
    return rankOfFurther[at] < games && (at === 0 || rankOfFurther[at] >= rankOfFurther[at - 1]);
  });
  const wrongSlugs = `"slugReadings" does not ascend from ${games} to ${readings}`;
  checkAscending(slugReadings, 0, slugReadings.length, readings, WORD_INDEX, wrongSlugs);
  if (slugReadings[0] < games) throw damaged(WORD_INDEX, wrongSlugs);

  const words = makeReadingWords(index);
  const seen = new Uint8Array(readings);
  const wrongOrder = '"readingsByWords" does not hold every reading once, in order';
  checkEach(readings, WORD_INDEX, wrongOrder, (at) => {
    const reading = readingsByWords[at];
    if (reading >= readings || seen[reading] === 1) return false;
    seen[reading] = 1;
    return at === 0 || compareReadings(words, readingsByWords[at - 1], reading) <= 0;
  });
  return words;
}

/** Checks that texts and the entries of each ascend, and that every entry is below a number. */
export function checkPostings(list: Postings, below: number, file: string, name: string): void {
  const { text, textStart, entries, entriesStart } = list;
  checkStarts(textStart, text.length, file, `${name}.textStart`);
  checkStarts(entriesStart, entries.length, file, `${name}.ranksStart`);
  checkEach(textStart.length - 1, file, `the texts of "${name}" do not ascend`, (at) => {
    return at === 0 || compareTexts(list, at - 1, at) < 0;
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
