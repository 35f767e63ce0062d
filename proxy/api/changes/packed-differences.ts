/**
 * Differences in memory, where thousands of them are joined in a fraction of a second. Each is read once, when
 * a list first needs it. A record is a number here, and a content hash two.
 */
import { LRUCache } from 'lru-cache';
import { type Change, encodeName } from '../../../lib/format/difference-file.ts';
import { type Difference, differenceFile } from '../../../lib/format/layout.ts';
import { readDifference } from '../../../lib/generations/differences.ts';

/** In bytes: 13 million changes. Beyond, those that were not used for the longest time are read again. */
const MOST_BYTES = 2 ** 28;
/** How many changes are read or joined in one step, which takes some milliseconds. */
export const STEP = 2_000;
const KINDS: readonly Change['kind'][] = ['platform', 'game', 'cover'];

/**
 * How many numbers a change has: that of its record, the halves of the hash before, and those of the hash after.
 * Where the record is not there, both halves are zero. A zero hash is as unlikely as two equal hashes.
 */
export const ROW = 5;

export interface PackedDifferences {
  /** For each record, a text that sorts as lists do: the kind, how many digits the id has, and the id. */
  readonly orders: readonly string[];
  /**
   * The changes of a difference, {@link ROW} numbers each, in steps, which all who wait for it take together.
   * @throws DifferenceError
   */
  rowsOf(difference: Difference): Generator<void, Uint32Array>;
  pathOf(record: number): string;
  /** The members of a change that name its record. */
  encodeName(record: number): string;
}

export function makePackedDifferences(snapshotsDir: string): PackedDifferences {
  /** By order and path: another record may take the path of a removed one. */
  const numbers = new Map<string, number>();
  const orders: string[] = [];
  const paths: string[] = [];
  const packed = new LRUCache<string, Uint32Array>({
    maxSize: MOST_BYTES,
    sizeCalculation: ({ byteLength }) => byteLength + 1,
  });
  const underWay = new Map<string, Generator<void, Uint32Array>>();

  function numberOf({ kind, id, path }: Change): number {
    const digits = kind === 'platform' ? '00' : String(id.length).padStart(2, '0');
    const order = KINDS.indexOf(kind) + digits + id;
    const name = `${order} ${path}`;
    const known = numbers.get(name);
    if (known !== undefined) return known;
    // A copy: a slice of the file would keep the whole file in memory.
    const copy = Buffer.from(name, 'latin1').toString('latin1');
    numbers.set(copy, orders.length);
    paths.push(copy.slice(order.length + 1));
    return orders.push(copy.slice(0, order.length)) - 1;
  }

  function* read(difference: Difference): Generator<void, Uint32Array> {
    const rows: number[] = [];
    for (const change of readDifference(snapshotsDir, difference)) {
      rows.push(numberOf(change), ...halvesOf(change.before), ...halvesOf(change.after));
      if (rows.length % (STEP * ROW) === 0) yield;
    }
    yield;
    const whole = Uint32Array.from(rows);
    packed.set(differenceFile(difference), whole);
    return whole;
  }

  return {
    orders,
    *rowsOf(difference) {
      const name = differenceFile(difference);
      for (;;) {
        const known = packed.get(name);
        if (known !== undefined) return known;
        const reading = underWay.get(name) ?? read(difference);
        underWay.delete(name);
        const { done, value } = reading.next();
        if (done) return value;
        underWay.set(name, reading);
        yield;
      }
    },
    pathOf: (record) => paths[record],
    encodeName(record) {
      const order = orders[record];
      const kind = KINDS[Number(order[0])];
      return encodeName({ kind, id: order.slice(3), path: paths[record] });
    },
  };
}

function halvesOf(hash: string | null): [number, number] {
  if (hash === null) return [0, 0];
  return [Number.parseInt(hash.slice(0, 8), 16), Number.parseInt(hash.slice(8), 16)];
}
