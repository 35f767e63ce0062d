/**
 * The query engine: a query in, the ranks of one page and the total out, without touching a record
 * and without sorting. Work is bounded by the number of games and the cap on words.
 *
 * MiniSearch's `search()` does the same by scoring and sorting every hit; on this many titles that
 * blocks the event loop for tenths of a second, so only its words and its near spellings are used.
 */
import { LRUCache } from 'lru-cache';
import type { RecordIndex } from '../../format/index/record-index.ts';
import {
  findPrefix,
  findText,
  type Postings,
  type Run,
  ranksAt,
  runBetween,
  type SearchIndex,
  textCount,
} from '../../format/index/search-index.ts';
import { foldCase, isJoinedScript, nearSpellingDistance } from '../../format/index/words.ts';
import { nearSpellings } from './near-spellings.ts';
import {
  atMost,
  EMPTY,
  intersect,
  isDense,
  isEmpty,
  join,
  type RankSet,
  sizeOf,
  slice,
  toBits,
  union,
  wholeRun,
} from './rank-set.ts';
import type { SpellingIndex } from './spelling-index.ts';

export const SORTS = ['title_asc', 'title_desc', 'year_asc', 'year_desc'] as const;
export type Sort = (typeof SORTS)[number];

export interface Query {
  /** Of `wordsOf`; at most MOST_WORDS. None: every title matches. */
  readonly words: readonly string[];
  readonly platform: string | undefined;
  readonly region: string | undefined;
  readonly type: string | undefined;
  readonly genre: string | undefined;
  readonly sort: Sort;
}

export interface Hits {
  readonly total: number;
  /** The ranks of the page, in the order asked for. */
  readonly ranks: readonly number[];
}

export interface Search {
  /** The hits from place `start` on, at most `count`. */
  find(query: Query, start: number, count: number): Hits;
}

/** At a million games 8 MB. */
const MOST_DENSE_UNIONS = 64;

/**
 * @param spellings of `makeSpellingIndex` for `index.words`
 */
export function makeSearch(
  index: SearchIndex,
  spellings: SpellingIndex,
  records: RecordIndex,
): Search {
  const { games } = index;
  const platformsBySlug = new Map<string, number[]>();
  records.platforms.forEach(({ slug }, number) => {
    const folded = foldCase(slug);
    platformsBySlug.set(folded, [...(platformsBySlug.get(folded) ?? []), number]);
  });

  // All genres in one string, made when one is first asked for.
  let genreText: string | undefined;

  // Bitsets of long lists, each made when it is first asked for. A list is dense only when it holds
  // a good part of all games, so that of single texts there can be but a few dozen.
  const denseTexts = new Map<Postings, Map<number, RankSet>>();
  const denseUnions = new LRUCache<string, RankSet>({ max: MOST_DENSE_UNIONS });

  /** The games of one text. */
  function ranksOf(postings: Postings, place: number): RankSet {
    const list = ranksAt(postings, place);
    if (!isDense(list, games)) return { list };
    const known = denseTexts.get(postings) ?? new Map<number, RankSet>();
    denseTexts.set(postings, known);
    const set = known.get(place) ?? toBits({ list }, games);
    known.set(place, set);
    return set;
  }

  /** The union of what `key` stands for, remembered when it is large. */
  function unionOf(key: string, runs: () => readonly Run[]): RankSet {
    const known = denseUnions.get(key);
    if (known !== undefined) return known;
    const set = union(runs(), games);
    if (set.bits !== undefined) denseUnions.set(key, set);
    return set;
  }

  function matchTitles(words: readonly string[]): RankSet {
    const sets: RankSet[] = [];
    for (const [place, word] of words.entries()) {
      const set = matchWord(word, place === words.length - 1);
      if (atMost(set) === 0) return EMPTY;
      sets.push(set);
    }
    return intersect(sets);
  }

  /** As matchTitles, with the words that are spelt nearly so. */
  function matchNearTitles(words: readonly string[]): RankSet {
    let found: RankSet | undefined;
    for (const [place, word] of words.entries()) {
      const set = matchNearWord(word, place === words.length - 1);
      found = found === undefined ? set : intersect([found, set]);
      // Looking for near spellings is the costly part: never for a word that cannot matter.
      if (isEmpty(found)) return EMPTY;
    }
    return found ?? EMPTY;
  }

  function matchWord(word: string, isLast: boolean): RankSet {
    // The endings of a word include the word itself, and a prefix of one is any part of it.
    if (isJoinedScript(word) && [...word].length > 1) return withPrefix(index.endings, word);
    if (isLast) return withPrefix(index.words, word);
    const place = findText(index.words, word);
    return place < 0 ? EMPTY : ranksOf(index.words, place);
  }

  function matchNearWord(word: string, isLast: boolean): RankSet {
    const exact = matchWord(word, isLast);
    const distance = nearSpellingDistance(word);
    if (distance === 0) return exact;
    const runs = nearSpellings(spellings, word, distance).map((place) =>
      runBetween(index.words, place, place + 1),
    );
    return join(exact, runs, games);
  }

  function withPrefix(postings: Postings, prefix: string): RankSet {
    const [from, to] = findPrefix(postings, prefix);
    if (to - from === 1) return ranksOf(postings, from);
    const kind = postings === index.words ? 'words' : 'endings';
    return unionOf(`${kind} ${from} ${to}`, () => [runBetween(postings, from, to)]);
  }

  function onPlatform(slug: string): RankSet {
    // A platform's games are numbered in title order, so their ranks ascend.
    const lists = (platformsBySlug.get(foldCase(slug)) ?? []).map((number) => {
      const { first_game, games: count } = records.platforms[number];
      return records.games.rank.subarray(first_game, first_game + count);
    });
    return lists.length === 1 ? { list: lists[0] } : union(lists.map(wholeRun), games);
  }

  function withValue(list: Postings, value: string): RankSet {
    const place = findText(list, foldCase(value));
    return place < 0 ? EMPTY : ranksOf(list, place);
  }

  function withGenre(part: string): RankSet {
    const folded = foldCase(part);
    return unionOf(`genre ${folded}`, () => {
      genreText ??= utf16Text(index.genres.text);
      const ranges = textsWith(index.genres, genreText, folded);
      return ranges.map(([from, to]) => runBetween(index.genres, from, to));
    });
  }

  function find(query: Query, start: number, count: number): Hits {
    const sets: RankSet[] = [];
    if (query.platform !== undefined) sets.push(onPlatform(query.platform));
    if (query.region !== undefined) sets.push(withValue(index.regions, query.region));
    if (query.type !== undefined) sets.push(withValue(index.types, query.type));
    if (query.genre !== undefined) sets.push(withGenre(query.genre));
    if (query.words.length > 0) {
      // Whether near spellings count depends on the titles alone: a filter only ever narrows.
      const exact = matchTitles(query.words);
      sets.push(isEmpty(exact) ? matchNearTitles(query.words) : exact);
    }
    if (sets.length === 0) return pageOfAll(query.sort, start, count);
    const found = intersect(sets);
    const total = sizeOf(found);
    if (start >= total) return { total, ranks: [] };
    const most = Math.min(count, total - start);
    if (query.sort === 'title_asc') return { total, ranks: slice(found, start, most) };
    if (query.sort === 'title_desc') {
      return { total, ranks: slice(found, total - start - most, most).reverse() };
    }
    return { total, ranks: sliceByYear(found, query.sort, start, most) };
  }

  function pageOfAll(sort: Sort, start: number, count: number): Hits {
    const most = Math.max(0, Math.min(count, games - start));
    const ranks = Array.from({ length: most }, (_, i) => start + i);
    if (sort === 'title_desc')
      return { total: games, ranks: ranks.map((place) => games - 1 - place) };
    if (sort === 'title_asc') return { total: games, ranks };
    const counts = index.yearStart.slice(1).map((end, year) => end - index.yearStart[year]);
    const starts = yearStarts(counts, sort);
    return {
      total: games,
      ranks: ranks.map((place) => {
        const year = starts.findIndex((from, i) => place >= from && place < from + counts[i]);
        const inYear = place - starts[year];
        return index.ranksByYear[index.yearStart[year] + inYear];
      }),
    };
  }

  function sliceByYear(found: RankSet, sort: Sort, start: number, count: number): number[] {
    return found.list !== undefined && !isDense(found.list, games)
      ? sliceListByYear(found.list, sort, start, count)
      : sliceBitsByYear(toBits(found, games).bits as Uint32Array, sort, start, count);
  }

  // One count by year and one pass that drops each rank into its place: years are few.
  function sliceListByYear(list: Uint32Array, sort: Sort, start: number, count: number): number[] {
    const counts = new Uint32Array(index.years.length + 1);
    const { yearOfRank } = index;
    for (let i = 0; i < list.length; i++) {
      const year = yearOfRank[list[i]];
      counts[year] = counts[year] + 1;
    }
    const next = yearStarts(counts, sort);
    const ranks = new Array<number>(count).fill(0);
    for (let i = 0, missing = count; missing > 0; i++) {
      const rank = list[i];
      const year = yearOfRank[rank];
      const place = next[year];
      next[year] = place + 1;
      if (place < start || place >= start + count) continue;
      ranks[place - start] = rank;
      missing--;
    }
    return ranks;
  }

  // All games year by year, those of the set counted up to the end of the page.
  function sliceBitsByYear(bits: Uint32Array, sort: Sort, start: number, count: number): number[] {
    const { ranksByYear, yearStart } = index;
    const ranks: number[] = [];
    let before = 0;
    for (const year of yearsInOrder(sort)) {
      const to = yearStart[year + 1];
      for (let at = yearStart[year]; at < to; at++) {
        const rank = ranksByYear[at];
        const isIn = (bits[rank >>> 5] >>> (rank & 31)) & 1;
        if (isIn === 1 && before >= start) {
          ranks.push(rank);
          if (ranks.length === count) return ranks;
        }
        before += isIn;
      }
    }
    return ranks;
  }

  /** The place at which each year begins. */
  function yearStarts(counts: Uint32Array, sort: Sort): number[] {
    const starts = new Array<number>(counts.length).fill(0);
    let place = 0;
    for (const year of yearsInOrder(sort)) {
      starts[year] = place;
      place += counts[year];
    }
    return starts;
  }

  /** "No year", the last entry, comes last in both sorts. */
  function yearsInOrder(sort: Sort): number[] {
    const years = Array.from(index.years.keys());
    if (sort === 'year_desc') years.reverse();
    return [...years, years.length];
  }

  return { find };
}

function utf16Text({ buffer, byteOffset, byteLength }: Uint16Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('utf16le');
}

/**
 * The places of the texts that contain a part, each as a range.
 * @param all the texts behind one another
 */
function textsWith(list: Postings, all: string, part: string): [number, number][] {
  const { textStart } = list;
  const ranges: [number, number][] = [];
  const count = textCount(list);
  let at = 0;
  for (let place = 0; place < count; place++) {
    if (at < textStart[place]) at = textStart[place];
    const found = all.indexOf(part, at);
    if (found < 0) break;
    while (textStart[place + 1] <= found) place++;
    if (found + part.length <= textStart[place + 1]) {
      const last = ranges.at(-1);
      // Neighbours become one range, so that the ranks of many are one run.
      if (last !== undefined && last[1] === place) last[1] = place + 1;
      else ranges.push([place, place + 1]);
    } else {
      // The find runs over a boundary between two texts: look again from its second character.
      at = found + 1;
      place--;
    }
  }
  return ranges;
}
