/**
 * `proxy/key-usage-<PORT>.json`: what each key has used on the last days. Each proxy writes its own file.
 * `cover-catalogue schedule` reads all these files and updates the database.
 *
 * Counts belong to a run of a proxy. They only grow, so a reader that takes the larger of two values
 * counts nothing twice, however often it reads a file.
 */
import { parseFile, readMembers } from './json/parse-file.ts';
import { isCount, listOf, matching, withMembers } from './json/values.ts';

const VERSION = 2;
/**
 * Version 1.0 of the product wrote this one, with two more numbers of a key. It is read, so that an upgrade loses
 * no counts.
 */
const FORMER_VERSION = 1;
const FORMER_BEGINNING = `{"version":${FORMER_VERSION},`;
const DAY_SECONDS = 24 * 3600;
/** @param length how many numbers a key has, without the second of its last use */
const shapeOf = (length: number) => ({
  counts: listOf(
    withMembers({
      run: matching(/^[0-9a-f]{16}$/),
      day: matching(/^\d{4}-\d{2}-\d{2}$/),
      keys: listOf(
        (value: unknown): value is readonly number[] =>
          Array.isArray(value) &&
          (value.length === length ||
            (value.length === length + 1 && value[length] < DAY_SECONDS)) &&
          value.every(isCount),
      ),
    }),
  ),
});
const SHAPE = shapeOf(3);
const FORMER_SHAPE = shapeOf(5);
/** A day of UTC, in milliseconds. */
export const DAY_MS = DAY_SECONDS * 1000;
/** The largest file that is read, in bytes. */
export const LARGEST_KEY_USAGE = 64 * 1024 * 1024;
/** Proxies report the counts of this many days, so that none is lost while the import fails. */
const REPORTED_DAYS = 8;
/** How many days with counts the database keeps. */
export const KEPT_USAGE_DAYS = 400;

/** What a key has used within some time. */
export interface Usage {
  /** The requests that counted towards the key's limit. */
  readonly requests: number;
  /** The requests that were refused with 429; they are not among `requests`. */
  readonly refused: number;
}

/** What a key has used on one day, as it is reported. */
export interface ReportedUsage extends Usage {
  /**
   * The second of the day, in UTC, at which a proxy last found new requests; undefined if there were none. It
   * looks every minute.
   */
  readonly lastSecond?: number | undefined;
}

/** What was used on one day, as one run of a proxy has counted it. */
export interface DayUsage {
  /** The random name of the run: 16 hex digits. */
  readonly run: string;
  /** "YYYY-MM-DD" in UTC. */
  readonly day: string;
  /** By the id of the key. */
  readonly keys: ReadonlyMap<number, ReportedUsage>;
}

/** A moment's day in UTC, "YYYY-MM-DD". @param days added to the day */
export function dayOf(time: number, days = 0): string {
  return new Date(time + days * DAY_MS).toISOString().slice(0, 10);
}

/**
 * Whether the counts of a day are reported: today's and those of the days before. Tomorrow's are, too,
 * since the clocks of two machines differ. A day after that comes from a wrong clock.
 */
export function isReported(day: string, now: number): boolean {
  return day >= dayOf(now, 1 - REPORTED_DAYS) && day <= dayOf(now, 1);
}

/**
 * The days whose counts a proxy keeps: the last ones with counts. Those before the present and those after it are
 * told apart, so that days of a clock that was wrong replace none of the others.
 */
export function keptDays(days: Iterable<string>, now: number): ReadonlySet<string> {
  const sorted = [...new Set(days)].sort();
  const later = sorted.findIndex((day) => day > dayOf(now, 1));
  const split = later === -1 ? sorted.length : later;
  const first = Math.max(0, split - REPORTED_DAYS);
  return new Set(sorted.slice(first, split + REPORTED_DAYS));
}

/** The bytes of the file. */
export function encodeKeyUsage(counts: readonly DayUsage[]): string {
  const lines = counts.map(({ run, day, keys }) =>
    JSON.stringify({
      run,
      day,
      keys: [...keys].sort(byId).map(([id, usage]) => {
        const { requests, refused, lastSecond = [] } = usage;
        return [id, requests, refused].concat(lastSecond);
      }),
    }),
  );
  const list = lines.length === 0 ? '[]' : `[\n${lines.join(',\n')}\n]`;
  return `{"version":${VERSION},"counts":${list}}\n`;
}

function byId([a]: readonly [number, unknown], [b]: readonly [number, unknown]): number {
  return a - b;
}

/**
 * @param text the content of the file
 * @param file the name of the file, used in errors
 * @throws Error that says what is wrong; for a file of another version, with both versions
 */
export function parseKeyUsage(text: string, file: string): readonly DayUsage[] {
  const isFormer = text.startsWith(FORMER_BEGINNING);
  const found = parseFile(text, file, isFormer ? FORMER_VERSION : VERSION);
  const { counts } = readMembers(found, file, isFormer ? FORMER_SHAPE : SHAPE);
  return counts.map(({ run, day, keys }) => {
    const usage = keys.map((numbers) => {
      // Of those of version 1.0, the third is a part of the requests, and the fifth counts bytes.
      const used = isFormer ? [numbers[0], numbers[1], numbers[3], numbers[5]] : numbers;
      const [id, requests, refused, lastSecond] = used;
      return [id, { requests, refused, lastSecond }] as const;
    });
    return { run, day, keys: new Map(usage) };
  });
}
