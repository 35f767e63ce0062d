/**
 * Looks for probable mistakes in what is published. The rules prefer missing a mistake to warning
 * about a sound catalogue, since nobody reads a warning that is always there.
 */
import { isIPv4 } from 'node:net';
import { type Covers, type Games, LEFT_OUT } from '../columns/catalogue.ts';
import { valueOfId } from '../columns/ids.ts';
import { MOST_LISTED, type Warning } from '../report/report.ts';
import { shownValue } from '../report/shown-value.ts';
import { encodeTime } from './records.ts';

/** Clocks differ a little; a time zone makes a difference of at least a quarter of an hour. */
const CLOCK_TOLERANCE_SECONDS = 60;

interface Separator {
  readonly name: string;
  readonly pattern: RegExp;
  /** Warn from this percentage of the games with genres on. */
  readonly percentage: number;
  /** Names of genres contain it, too ("Action/Adventure"): warn only if it is commoner than ", ". */
  readonly isAmbiguous: boolean;
}

const SEPARATORS: readonly Separator[] = [
  { name: '";"', pattern: /;/, percentage: 1, isAmbiguous: false },
  { name: '"|"', pattern: /\|/, percentage: 1, isAmbiguous: false },
  { name: '"," without a space', pattern: /,[^ ]/, percentage: 1, isAmbiguous: false },
  { name: '"/"', pattern: /\//, percentage: 10, isAmbiguous: true },
];

/** The API promises genres as one text joined by ", ", which clients split. */
export function findGenreWarnings({ rows, ids, platform, genres, genresOf }: Games): Warning[] {
  const games = new Uint32Array(genres.length);
  for (let row = 0; row < rows; row++) {
    if (platform[row] === LEFT_OUT) continue;
    const text = genresOf[row];
    games[text]++;
  }
  /** How many games have a text that matches. */
  const count = (pattern: RegExp) =>
    genres.reduce(
      (sum, text, number) => (text !== null && pattern.test(text) ? sum + games[number] : sum),
      0,
    );
  const withGenres = count(/./su);
  const rightlyJoined = count(/, /);
  return SEPARATORS.flatMap(({ name, pattern, percentage, isAmbiguous }): Warning[] => {
    const found = count(pattern);
    if (found === 0 || found * 100 < withGenres * percentage) return [];
    if (isAmbiguous && found <= rightlyJoined) return [];
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

/** @param now in seconds since 1970 */
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

/** Whether an address leads every client to its own machine. */
function isLocal(address: string): boolean {
  const { hostname } = new URL(address);
  if (isIPv4(hostname)) return hostname.startsWith('127.') || hostname === '0.0.0.0';
  return LOCAL_NAME.test(hostname) || LOCAL_IPV6.test(hostname);
}

/**
 * @param addresses by the name of the variable
 * @param isSet whether a variable has another value than its default
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
