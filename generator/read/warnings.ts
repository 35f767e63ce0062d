/**
 * Looks for probable mistakes in what is published. The rules would rather miss a mistake than warn about
 * a correct catalogue, since nobody reads a warning that is always there.
 */
import { isIPv4 } from 'node:net';
import type { HiddenViews } from '../../database/hidden-views.ts';
import { type Covers, type Games, LEFT_OUT } from '../columns/catalogue.ts';
import { valueOfId } from '../columns/ids.ts';
import { MOST_LISTED } from '../report/reasons.ts';
import type { Warning } from '../report/report.ts';
import { shownValue } from '../report/shown-value.ts';
import { encodeTime } from './records.ts';

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

/** Finds genres that are not joined by ", ", as the API promises to clients, which split them. */
export function findGenreWarnings({ rows, ids, platform, genres, genresOf }: Games): Warning[] {
  /** For each genres string, how many games have it. */
  const gameCounts = new Uint32Array(genres.length);
  for (let row = 0; row < rows; row++) {
    if (platform[row] !== LEFT_OUT) gameCounts[genresOf[row]]++;
  }
  /** How many games have a genres string that matches. */
  const count = (pattern: RegExp) =>
    genres.reduce(
      (sum, text, number) => (text !== null && pattern.test(text) ? sum + gameCounts[number] : sum),
      0,
    );
  const withGenres = count(/./su);
  const withComma = count(/, /);
  return SEPARATORS.flatMap(({ name, pattern, percentage, isAmbiguous }): Warning[] => {
    const found = count(pattern);
    if (found === 0 || found * 100 < withGenres * percentage) return [];
    if (isAmbiguous && found <= withComma) return [];
    const listed: Warning['rows'][number][] = [];
    for (let row = 0; row < rows && listed.length < MOST_LISTED; row++) {
      const text = genres[genresOf[row]] ?? '';
      if (platform[row] === LEFT_OUT || !pattern.test(text)) continue;
      listed.push({ id: shownId(ids, row), value: shownValue(text) });
    }
    const reason = `genres seem to be joined by ${name} instead of ", "`;
    return [{ table: 'games', reason, count: found, rows: listed }];
  });
}

/** Finds covers that were approved in the future. @param now in seconds since 1970 */
export function findFutureApprovals(covers: Covers, now: number): Warning[] {
  const { rows, ids, game, approvedAt } = covers;
  const listed: Warning['rows'][number][] = [];
  let count = 0;
  for (let row = 0; row < rows; row++) {
    const time = approvedAt[row];
    if (game[row] === LEFT_OUT || !(time > now + CLOCK_TOLERANCE_SECONDS)) continue;
    if (count++ >= MOST_LISTED) continue;
    listed.push({ id: shownId(ids, row), value: encodeTime(time) });
  }
  if (count === 0) return [];
  const reason = 'approved_at is in the future: is it UTC?';
  return [{ table: 'covers', reason, count, rows: listed }];
}

function shownId({ high, low }: Games['ids'], row: number): number | string {
  return valueOfId([high[row], low[row]]);
}

const LOCAL_NAME = /(?:^|\.)localhost(?:\.localdomain)?\.?$/;
const LOCAL_IPV6 = /^\[::(?:1|ffff:7f[0-9a-f]{2}:[0-9a-f]{1,4})?\]$/;

/** Whether the host of an address is, for every client, its own machine. */
function isLocal(address: string): boolean {
  const { hostname } = new URL(address);
  if (isIPv4(hostname)) return hostname.startsWith('127.') || hostname === '0.0.0.0';
  return LOCAL_NAME.test(hostname) || LOCAL_IPV6.test(hostname);
}

/**
 * Finds addresses in the configuration that other machines cannot reach.
 * @param addresses the address in each variable, by the variable's name
 * @param isSet tells whether a variable is set
 */
export function findLocalAddresses(
  addresses: Readonly<Record<string, string>>,
  isSet: (name: string) => boolean,
): Warning[] {
  return Object.entries(addresses)
    .filter(([, address]) => isLocal(address))
    .map(([name, address]) => {
      const where = isSet(name) ? `is ${address}` : `is not set and therefore ${address}`;
      const reason = `${name} ${where}, which only this machine can reach`;
      return { table: null, reason, count: 1, rows: [] };
    });
}

/** Says why each run reads all rows, although `updated_at` would show which of them have changed. */
export function warnOfHiddenViews(hidden: HiddenViews | undefined): Warning[] {
  if (hidden === undefined) return [];
  const { fault, grant } = hidden;
  const reason = `All rows are read: ${fault}, so a new definition would go unnoticed. Run as an administrator: ${grant}`;
  return [{ table: null, reason, count: 1, rows: [] }];
}
