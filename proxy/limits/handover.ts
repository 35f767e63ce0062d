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
import type { SavedAddress, SavedAddresses } from './address-limits.ts';
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
  const columns = openColumns(bytes, name);
  const numbers = (title: string) => column(columns, title, Float64Array, name);
  const integers = (title: string) => column(columns, title, Uint32Array, name);
  const text = (title: string) =>
    Buffer.from(column(columns, title, Uint8Array, name)).toString('latin1');
  const damaged = (what: string) => new Error(`${name} is damaged: ${what}.`);

  const [version] = integers('version');
  if (version !== VERSION) {
    throw new Error(`${name} has version ${version}; this program reads version ${VERSION}.`);
  }
  const passed = timePassed(numbers('moment'), text('boot'), moment);
  if (Number.isNaN(passed)) throw damaged('it does not say when it was written');
  if (passed >= WINDOW_MS) return undefined;

  /** For each of `count` windows, its times. */
  function decodeTimes(prefix: 'key' | 'address', count: number): number[][] {
    const starts = integers(`${prefix}Start`);
    const ages = column(columns, `${prefix}Age`, Uint16Array, name);
    if (starts.length !== count + 1 || starts[0] !== 0 || starts[count] !== ages.length) {
      throw damaged(`its ${prefix} windows are inconsistent`);
    }
    return Array.from({ length: count }, (_, index) => {
      const [start, end] = [starts[index], starts[index + 1]];
      if (start > end) throw damaged(`its ${prefix} windows are inconsistent`);
      const windowAges = [...ages.subarray(start, end)];
      if (windowAges.some((age, i) => i > 0 && age > windowAges[i - 1])) {
        throw damaged(`its ${prefix} windows are inconsistent`);
      }
      return windowAges.map((age) => moment.now - passed - age).filter(counts);
    });
  }
  const counts = (time: number) => moment.now - time < WINDOW_MS;

  const ids = numbers('keyId');
  const hashes = text('keyHash');
  if (hashes.length !== ids.length * HASH_DIGITS)
    throw damaged('the numbers of its keys and of their hashes differ');
  const keyTimes = decodeTimes('key', ids.length);
  const [firstSeed, secondSeed, sets] = integers('table');
  const addressSets = integers('addressSet');
  const tags = numbers('addressTag');
  const addressTimes = decodeTimes('address', tags.length);
  const isInTable = addressSets.length === tags.length && addressSets.every((set) => set < sets);
  if (!isInTable) throw damaged('its addresses are outside the table');
  // Files of older versions do not have it.
  const [proxy = '', epoch = ''] = columns.fleet === undefined ? [] : text('fleet').split(' ');
  return {
    ...(epoch === '' ? {} : { fleet: { proxy, epoch } }),
    keys: keyTimes.map((times, index) => ({
      id: ids[index],
      hash: hashes.slice(index * HASH_DIGITS, (index + 1) * HASH_DIGITS),
      times,
    })),
    addresses: {
      seed: [firstSeed, secondSeed],
      sets,
      windows: addressTimes.map(
        (times, index): SavedAddress => ({ set: addressSets[index], tag: tags[index], times }),
      ),
    },
  };
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
