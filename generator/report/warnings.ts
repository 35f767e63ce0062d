/**
 * Looks for probable mistakes in what is published. The rules would rather miss a mistake than warn about
 * a correct catalogue, since nobody reads a warning that is always there.
 */
import type { HiddenViews } from '../../database/hidden-views.ts';
import { compareIds, type Id, splitId } from '../../format/index/ids.ts';
import { entriesAt, type Postings, textAt, textCount } from '../../format/index/search-index.ts';
import { valueOfId } from '../read/catalogue.ts';
import { encodeTime } from '../write/records.ts';
import { MOST_LISTED, type Warning } from './report.ts';
import { shownValue } from './shown-value.ts';

/** Clocks differ a little; a time zone makes a difference of at least a quarter of an hour. */
const CLOCK_TOLERANCE_SECONDS = 60;

interface Separator {
  readonly name: string;
  readonly pattern: RegExp;
  /** Warn if at least this percentage of the games with genres have this separator. */
  readonly percentage: number;
  /** The name of a genre can contain it ("Action/Adventure"): warn only if it is more common than ", ". */
  readonly isAmbiguous: boolean;
}

const SEPARATORS: readonly Separator[] = [
  { name: '";"', pattern: /;/, percentage: 1, isAmbiguous: false },
  { name: '"|"', pattern: /\|/, percentage: 1, isAmbiguous: false },
  { name: '"," without a space', pattern: /,[^ ]/, percentage: 1, isAmbiguous: false },
  { name: '"/"', pattern: /\//, percentage: 10, isAmbiguous: true },
];

/**
 * Finds genres that are not joined by ", ", as the API promises to clients, which split them.
 * @param genres the genres strings of the search index, in lower case, with the ranks of their games
 * @param idOf the id of the game with a rank @param genresOf its genres
 */
export function findGenreWarnings(
  genres: Postings,
  idOf: (rank: number) => Id,
  genresOf: (rank: number) => string | null,
): Warning[] {
  const texts = Array.from({ length: textCount(genres) }, (_, index) => textAt(genres, index));
  /** The ranks of the games with genres that match. */
  const find = (pattern: RegExp) =>
    texts.flatMap((text, index) => (pattern.test(text) ? [entriesAt(genres, index)] : []));
  const count = (lists: readonly Uint32Array[]) =>
    lists.reduce((sum, { length }) => sum + length, 0);
  const withGenres = genres.entries.length;
  const withComma = count(find(/, /));
  return SEPARATORS.flatMap(({ name, pattern, percentage, isAmbiguous }): Warning[] => {
    const lists = find(pattern);
    const found = count(lists);
    if (found === 0 || found * 100 < withGenres * percentage) return [];
    if (isAmbiguous && found <= withComma) return [];
    const first = lists
      .flatMap((ranks) => Array.from(ranks, (rank) => ({ rank, id: idOf(rank) })))
      .sort((a, b) => compareIds(a.id, b.id))
      .slice(0, MOST_LISTED);
    const rows = first.map(({ rank, id }) => ({
      id: valueOfId(id),
      value: shownValue(genresOf(rank)),
    }));
    const reason = `genres seem to be joined by ${name} instead of ", "`;
    return [{ table: 'games', reason, count: found, rows }];
  });
}

/**
 * Finds covers that were approved in the future.
 * @param covers the time of each in seconds since 1970, and its id @param now in seconds since 1970
 */
export function findFutureApprovals(
  covers: Iterable<readonly [seconds: number, id: string]>,
  now: number,
): Warning[] {
  const found = [...covers].filter(([time]) => isInFuture(time, now));
  if (found.length === 0) return [];
  const rows = found
    .map(([time, id]) => ({ id: splitId(id) ?? ([0, 0] as const), time }))
    .sort((a, b) => compareIds(a.id, b.id))
    .slice(0, MOST_LISTED)
    .map(({ id, time }) => ({ id: valueOfId(id), value: encodeTime(time) }));
  const reason = 'approved_at is in the future: is it UTC?';
  return [{ table: 'covers', reason, count: found.length, rows }];
}

export function isInFuture(time: number, now: number): boolean {
  return time > now + CLOCK_TOLERANCE_SECONDS;
}

/** Says why each run reads all rows, although `updated_at` would show which of them have changed. */
export function warnOfHiddenViews(hidden: HiddenViews | undefined): Warning[] {
  if (hidden === undefined) return [];
  const { fault, grant } = hidden;
  const reason = `All rows are read: ${fault}, so a new definition would go unnoticed. Run as an administrator: ${grant}`;
  return [{ table: null, reason, count: 1, rows: [] }];
}
