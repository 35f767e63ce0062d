/**
 * The program of the thread that joins differences. It answers one order after another with a part of
 * the list of changes, as text that the API sends unchanged.
 */
import { parentPort, workerData } from 'node:worker_threads';
import type { Change } from '../../format/difference-file.ts';
import { RECORD_SEPARATOR } from '../../format/pack.ts';
import { findPath, type Step } from '../../generations/changes/difference-path.ts';
import {
  DifferenceError,
  readDifference,
  readHead,
} from '../../generations/changes/read-difference.ts';
import { encodeElement, joinDifferences } from './join.ts';

export interface JoinOrder {
  /** The ids of two generations. */
  readonly from: string;
  readonly to: string;
  /** Which changes are wanted: from `first` (inclusive) to `end` (exclusive). */
  readonly first: number;
  readonly end: number;
}

/** A part of a list of changes. */
export interface JoinedPart {
  /** The length of the whole list. */
  readonly total: number;
  /** The wanted changes, with separators between them. */
  readonly text: Uint8Array;
  /** Where each of them starts in `text`; at the end, where the next one would start. */
  readonly starts: Uint32Array;
}

export type JoinReply =
  | { readonly outcome: 'joined'; readonly part: JoinedPart; readonly differences: number }
  /** No differences connect the generations. */
  | { readonly outcome: 'gone' }
  /** A difference is damaged; the message names it. */
  | { readonly outcome: 'refused'; readonly message: string };

const FIRST_BYTES = 64 * 1024;

/** The parents of generations, which never change. */
const parents = new Map<string, string>();

function parentOf(snapshotsDir: string, id: string): string | undefined {
  const parent = parents.get(id) ?? readHead(snapshotsDir, id)?.from;
  if (parent !== undefined) parents.set(id, parent);
  return parent;
}

/** Carries out an order. It reads from disk without pausing, so it must not run on a serving thread. */
export function join(snapshotsDir: string, { from, to, first, end }: JoinOrder): JoinReply {
  let steps: readonly Step[] | undefined;
  const read = ({ id, parent }: Step) => readDifference(snapshotsDir, id, parent);
  try {
    steps = findPath((id) => parentOf(snapshotsDir, id), from, to);
    if (steps === undefined) return { outcome: 'gone' };
    const text = makeText(end - first);
    let total = 0;
    for (const change of joinDifferences(steps, read)) {
      if (total >= first && total < end) text.add(encodeElement(change) + RECORD_SEPARATOR);
      total++;
    }
    const part = { total, ...text.finish() };
    return { outcome: 'joined', part, differences: steps.length };
  } catch (error) {
    if (!(error instanceof DifferenceError)) throw error;
    // It was pruned in the meantime.
    if (error.isMissing) return { outcome: 'gone' };
    const { message } = findFault(steps ?? [], read) ?? error;
    return { outcome: 'refused', message };
  }
}

/**
 * Collects ASCII texts in memory of its own, because V8 would keep strings for long after their use.
 * @param most how many texts there can be
 */
function makeText(most: number) {
  const starts = new Uint32Array(most + 1);
  let bytes = Buffer.allocUnsafeSlow(FIRST_BYTES);
  let count = 0;
  return {
    add(text: string): void {
      const start = starts[count];
      if (start + text.length > bytes.length) {
        const larger = Buffer.allocUnsafeSlow(bytes.length * 2);
        bytes.copy(larger, 0, 0, start);
        bytes = larger;
      }
      starts[++count] = start + bytes.write(text, start, 'latin1');
    },
    /** All texts, one after another, and where each starts. */
    finish: () => ({
      text: new Uint8Array(bytes.buffer.slice(0, starts[count])),
      starts: starts.slice(0, count + 1),
    }),
  };
}

/**
 * Checks each difference by itself. When two contradict each other, the checksum of the damaged one has
 * not been checked yet.
 */
function findFault(
  steps: readonly Step[],
  read: (step: Step) => Iterable<Change>,
): DifferenceError | undefined {
  for (const step of steps) {
    try {
      for (const _ of read(step));
    } catch (error) {
      if (error instanceof DifferenceError) return error;
      throw error;
    }
  }
  return undefined;
}

parentPort?.on('message', (order: JoinOrder) => {
  const reply = join(workerData, order);
  const memory =
    reply.outcome === 'joined' ? [reply.part.text.buffer, reply.part.starts.buffer] : [];
  parentPort?.postMessage(reply, memory as ArrayBuffer[]);
});
