/**
 * Encodes and decodes the requests that still count when a proxy stops, so that its next start can
 * continue with them. The bytes are those of a columns file. They contain neither keys nor addresses: a
 * key is stored as its id and a part of its hash, an address as a seeded hash, together with the seed.
 *
 * Times are stored as ages at the moment of writing. The time between writing and reading is measured
 * by the system's monotonic clock or, if the system was restarted in between, by the wall clock.
 * Invariant: a request counts for at most 60 seconds after the start, even if a clock was changed. It
 * counts for at least 60 seconds after it was admitted, unless the system was restarted and the wall
 * clock was set forward.
 */
import { type Columns, column, encodeColumns, openColumns } from '../../format/index/columns.ts';
import type { SavedAddresses } from './address-limits.ts';
import { WINDOW_MS } from './rolling-window.ts';

const VERSION = 1;

/** All windows at one moment. Times are by the clock of the windows, {@link Moment.now}. */
export interface Windows {
  readonly keys: readonly KeyWindow[];
  readonly addresses: SavedAddresses;
  /** Set if the limits store knows all of these requests. */
  readonly fleet?: FleetMember | undefined;
}

/** The process as a member of the fleet that shares its limits. */
export interface FleetMember {
  /** Its name. */
  readonly proxy: string;
  /** The epoch of the store in which it has reported all of its requests. */
  readonly epoch: string;
}

export interface KeyWindow {
  readonly id: number;
  /** SHA-256 of the raw key in hex, or the first {@link HASH_DIGITS} of it. */
  readonly hash: string;
  /** The times at which the requests that still count were admitted, the oldest first. */
  readonly times: readonly number[];
}

/** One moment by several clocks, in milliseconds. */
export interface Moment {
  /** The clock of the windows: monotonic since the system was started, the same in all processes. */
  readonly now: number;
  /** The wall clock. */
  readonly wall: number;
  /** The id of this boot of the system, from which `now` counts; empty if unknown. */
  readonly boot: string;
}

/** How many hex digits of a key's hash are stored. */
export const HASH_DIGITS = 16;

export function encodeWindows(
  { keys, addresses, fleet }: Windows,
  { now, wall, boot }: Moment,
): Buffer {
  const keyColumns = encodeTimes(keys, now);
  const addressColumns = encodeTimes(addresses.windows, now);
  const columns: Columns = {
    version: Uint32Array.of(VERSION),
    moment: Float64Array.of(now, wall),
    boot: Buffer.from(boot),
    keyId: Float64Array.from(keys, ({ id }) => id),
    keyHash: Buffer.from(keys.map(({ hash }) => hash.slice(0, HASH_DIGITS)).join(''), 'latin1'),
    keyStart: keyColumns.starts,
    keyAge: keyColumns.ages,
    table: Uint32Array.of(...addresses.seed, addresses.sets),
    addressSet: Uint32Array.from(addresses.windows, ({ set }) => set),
    addressTag: Float64Array.from(addresses.windows, ({ tag }) => tag),
    addressStart: addressColumns.starts,
    addressAge: addressColumns.ages,
    fleet: Buffer.from(fleet === undefined ? '' : `${fleet.proxy} ${fleet.epoch}`),
  };
  return Buffer.concat([...encodeColumns(columns)]);
}

/**
 * @param bytes from {@link encodeWindows}; they must start at a multiple of 8 in their buffer
 * @param name the name of their file, for errors
 * @param moment the present moment
 * @returns the windows, by the clock of this process; undefined if no request counts any more
 * @throws Error if the bytes are damaged or of another version
 */
export function decodeWindows(
  bytes: Uint8Array,
  name: string,
  moment: Moment,
): Windows | undefined {
  const file = openFile(bytes, name);
  const [version] = file.integers('version');
  if (version !== VERSION) {
    throw new Error(`${name} has version ${version}; this program reads version ${VERSION}.`);
  }
  const passed = timePassed(file.numbers('moment'), file.text('boot'), moment);
  if (Number.isNaN(passed)) throw file.damaged('it does not say when it was written');
  if (passed >= WINDOW_MS) return undefined;
  const timesOf: TimesOf = (ages) =>
    ages.map((age) => moment.now - passed - age).filter((time) => moment.now - time < WINDOW_MS);
  const fleet = decodeFleet(file);
  return {
    ...(fleet === undefined ? {} : { fleet }),
    keys: decodeKeys(file, timesOf),
    addresses: decodeAddresses(file, timesOf),
  };
}

/** The times of requests with these ages, without those that no longer count. */
type TimesOf = (ages: readonly number[]) => number[];

type WindowsFile = ReturnType<typeof openFile>;

function openFile(bytes: Uint8Array, name: string) {
  const columns = openColumns(bytes, name);
  return {
    has: (title: string) => columns[title] !== undefined,
    numbers: (title: string) => column(columns, title, Float64Array, name),
    integers: (title: string) => column(columns, title, Uint32Array, name),
    ages: (title: string) => column(columns, title, Uint16Array, name),
    text: (title: string) =>
      Buffer.from(column(columns, title, Uint8Array, name)).toString('latin1'),
    damaged: (what: string) => new Error(`${name} is damaged: ${what}.`),
  };
}

/** @returns undefined for a proxy without a limits store, and for files of older versions */
function decodeFleet(file: WindowsFile): FleetMember | undefined {
  const [proxy = '', epoch = ''] = file.has('fleet') ? file.text('fleet').split(' ') : [];
  return epoch === '' ? undefined : { proxy, epoch };
}

function decodeKeys(file: WindowsFile, timesOf: TimesOf): KeyWindow[] {
  const ids = file.numbers('keyId');
  const hashes = file.text('keyHash');
  if (hashes.length !== ids.length * HASH_DIGITS) {
    throw file.damaged('the numbers of its keys and of their hashes differ');
  }
  return decodeAges(file, 'key', ids.length).map((ages, index) => ({
    id: ids[index],
    hash: hashes.slice(index * HASH_DIGITS, (index + 1) * HASH_DIGITS),
    times: timesOf(ages),
  }));
}

function decodeAddresses(file: WindowsFile, timesOf: TimesOf): SavedAddresses {
  const [firstSeed, secondSeed, sets] = file.integers('table');
  const addressSets = file.integers('addressSet');
  const tags = file.numbers('addressTag');
  const ages = decodeAges(file, 'address', tags.length);
  const isInTable = addressSets.length === tags.length && addressSets.every((set) => set < sets);
  if (!isInTable) throw file.damaged('its addresses are outside the table');
  return {
    seed: [firstSeed, secondSeed],
    sets,
    windows: ages.map((own, index) => ({
      set: addressSets[index],
      tag: tags[index],
      times: timesOf(own),
    })),
  };
}

/** For each of `count` windows, the ages of its requests. */
function decodeAges(file: WindowsFile, prefix: 'key' | 'address', count: number): number[][] {
  const starts = file.integers(`${prefix}Start`);
  const ages = file.ages(`${prefix}Age`);
  const inconsistent = () => file.damaged(`its ${prefix} windows are inconsistent`);
  if (starts.length !== count + 1 || starts[0] !== 0 || starts[count] !== ages.length) {
    throw inconsistent();
  }
  return Array.from({ length: count }, (_, index) => {
    const [start, end] = [starts[index], starts[index + 1]];
    if (start > end) throw inconsistent();
    const windowAges = [...ages.subarray(start, end)];
    if (windowAges.some((age, i) => i > 0 && age > windowAges[i - 1])) throw inconsistent();
    return windowAges;
  });
}

/**
 * Milliseconds since the windows were written; NaN if that is unknown. If the wall clock was set back,
 * the result is 0: requests then count longer, but for at most a minute from now.
 */
function timePassed([now, wall]: Float64Array, boot: string, moment: Moment): number {
  const isSameBoot = boot !== '' && boot === moment.boot;
  return Math.max(0, isSameBoot ? moment.now - now : moment.wall - wall);
}

/** Ages are rounded down to whole milliseconds, so that no request stops counting too early. */
function encodeTimes(windows: readonly { readonly times: readonly number[] }[], now: number) {
  const starts = new Uint32Array(windows.length + 1);
  for (const [index, { times }] of windows.entries()) {
    starts[index + 1] = starts[index] + times.length;
  }
  const ages = new Uint16Array(starts[windows.length]);
  for (const [index, { times }] of windows.entries()) {
    ages.set(
      times.map((time) => Math.min(WINDOW_MS, Math.max(0, Math.floor(now - time)))),
      starts[index],
    );
  }
  return { starts, ages };
}
