/** Joins differences into lists of changes, in steps. The time for a list is in proportion to its changes. */
import { LRUCache } from 'lru-cache';
import type { Difference } from '../../../lib/format/layout.ts';
import {
  DifferenceError,
  findChain,
  listDifferences,
} from '../../../lib/generations/differences.ts';
import type { ChangePage, PageOrder } from './changes.ts';
import { makePackedDifferences, type PackedDifferences, ROW, STEP } from './packed-differences.ts';

/** In bytes, of all lists that are kept for their next pages; each change takes four. */
const MOST_LISTS_BYTES = 2 ** 25;
/** Removals sort first. */
const KINDS = ['removed', 'changed', 'added'] as const;

/** A page; or which difference is damaged, if that is why there is none. */
export interface Page {
  readonly page?: ChangePage;
  readonly damage?: string;
}

/** A list: for each change, the number of its record times three plus that of its kind. */
interface List {
  readonly changes: Uint32Array;
  readonly packed: PackedDifferences;
}

/**
 * @returns a function that makes a page of a list in steps. Before the second one, it has only looked up
 * whether there is a list, or already the page
 */
export function makeLists(snapshotsDir: string) {
  const known = makeKnownDifferences(snapshotsDir);
  const lists = new LRUCache<string, List>({
    maxSize: MOST_LISTS_BYTES,
    sizeCalculation: ({ changes }) => changes.byteLength + 1,
  });

  return function* ({ from, to, first, count }: PageOrder): Generator<void, Page> {
    const name = `${from} ${to}`;
    try {
      let list = lists.get(name);
      if (list === undefined) {
        const { differences, packed } = known();
        const chain = findChain(differences, from, to);
        if (chain === undefined) return {};
        yield;
        // Another client may have had it joined in the meantime.
        list = lists.get(name) ?? (yield* join(chain, packed));
        lists.set(name, list);
      }
      return { page: pageOf(list, first, count) };
    } catch (error) {
      if (error instanceof DifferenceError) return { damage: error.message };
      throw error;
    }
  };
}

/** @returns a function that lists the folder */
function makeKnownDifferences(snapshotsDir: string) {
  let packed = makePackedDifferences(snapshotsDir);
  /** The newest difference when `packed` was made. */
  let start: number | undefined;

  return () => {
    const differences = listDifferences(snapshotsDir);
    // Whatever was packed by then is too old, so the memory that it takes is freed.
    if (!differences.some(({ number }) => number === start)) {
      packed = makePackedDifferences(snapshotsDir);
      start = differences.at(-1)?.number;
    }
    return { differences, packed };
  };
}

/** @throws DifferenceError */
function* join(chain: readonly Difference[], packed: PackedDifferences): Generator<void, List> {
  /** For each record that a difference names, a row with its first and its last state. */
  const rows: number[] = [];
  const rowOf = new Map<number, number>();
  let steps = 0;
  for (const difference of chain) {
    const added = yield* packed.rowsOf(difference);
    for (let at = 0; at < added.length; at += ROW) {
      if (++steps % STEP === 0) yield;
      const record = added[at];
      const row = rowOf.get(record);
      if (row === undefined) {
        rowOf.set(record, rows.length);
        for (let i = 0; i < ROW; i++) rows.push(added[at + i]);
        continue;
      }
      if (rows[row + 3] !== added[at + 1] || rows[row + 4] !== added[at + 2]) {
        const error = new Error(`it contradicts earlier ones: ${packed.pathOf(record)}`);
        throw new DifferenceError(difference, error);
      }
      rows[row + 3] = added[at + 3];
      rows[row + 4] = added[at + 4];
    }
  }
  return { changes: Uint32Array.from(yield* sort(rows, packed)), packed };
}

/** The records whose states differ, by kind and id; removals first. */
function* sort(rows: readonly number[], { orders }: PackedDifferences): Generator<void, number[]> {
  // Sorted apart, so that no step takes long. They begin with the kind, and two digits of the id.
  const parts = new Map<string, number[]>();
  for (let row = 0; row < rows.length; row += ROW) {
    if ((row + ROW) % (STEP * ROW) === 0) yield;
    const [record, before, beforeLow, after, afterLow] = rows.slice(row, row + ROW);
    if (before === after && beforeLow === afterLow) continue;
    const kind = before + beforeLow === 0 ? 2 : after + afterLow === 0 ? 0 : 1;
    const start = orders[record].slice(0, 5);
    const part = parts.get(start);
    if (part === undefined) parts.set(start, [record * 3 + kind]);
    else part.push(record * 3 + kind);
  }
  const compare = (a: number, b: number) => {
    const [first, second] = [orders[Math.floor(a / 3)], orders[Math.floor(b / 3)]];
    return first < second ? -1 : first > second ? 1 : (a % 3) - (b % 3);
  };
  const sorted: number[] = [];
  let stepped = 0;
  for (const start of [...parts.keys()].sort()) {
    for (const change of parts.get(start)?.sort(compare) ?? []) sorted.push(change);
    if (sorted.length - stepped < STEP) continue;
    stepped = sorted.length;
    yield;
  }
  return sorted;
}

function pageOf({ changes, packed }: List, first: number, count: number): ChangePage {
  const elements = Array.from(changes.subarray(first, first + count), (change) => {
    const name = packed.encodeName(Math.floor(change / 3));
    return `{"change":"${KINDS[change % 3]}",${name}}`;
  });
  return { total: changes.length, elements };
}
