/**
 * The lists of changes between generations, for all serving threads. A list is joined from differences
 * when it is first requested, in parts, and the recent parts are kept as text: a page is a slice.
 *
 * Invariant: one join at a time, at most `MOST_JOINS` waiting, and a bounded number of bytes in memory.
 */
import { setImmediate } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { RECORD_SEPARATOR } from '../../format/pack.ts';
import { makeJoinThread } from './join-thread.ts';
import type { JoinedPart, JoinReply } from './join-worker.ts';

/** The length of a part, in changes. Each part of a list takes a join of its own. */
const PART_LENGTH = 100_000;
/** The longest page. Parts overlap by so much that each page lies in one part. */
export const LONGEST_PAGE = 100;
/** A part takes 7 to 9 MB. */
const MOST_BYTES = 32 * 1024 * 1024;
const MOST_JOINS = 16;
const MOST_WAITING = 2_000;
/** How many of the waiting requests are answered before other requests are served. */
const AT_ONCE = 4;
/** For how long a list that does not exist or cannot be trusted is not looked for again. */
const RETRY_MS = 30_000;
/** How many totals and refusals are remembered; each takes about 100 bytes. */
const MOST_REMEMBERED = 5_000;

/** The changes from `first` on, at most `count` of them. */
export interface PageOrder {
  /** The ids of two generations. */
  readonly from: string;
  readonly to: string;
  readonly first: number;
  readonly count: number;
}

export interface ChangePage {
  /** The length of the whole list. */
  readonly total: number;
  /** How many changes the page has. */
  readonly count: number;
  /** The changes as in the response, with separators between them: a copy. */
  readonly text: Uint8Array;
}

/**
 * `gone`: no (undamaged) differences lead from one generation to the other. `busy`: too many requests
 * wait.
 */
export type PageReply = ChangePage | 'gone' | 'busy';

/** Calls `answer` once, at once or later. */
export type ReadChanges = (order: PageOrder, answer: (reply: PageReply) => void) => void;

export interface ChangeEvents {
  joined(reply: JoinReply, milliseconds: number): void;
  /** The joining thread failed. */
  failed(error: Error): void;
}

export interface ChangeStore {
  readonly read: ReadChanges;
  close(): void;
}

interface Waiting {
  readonly order: PageOrder;
  readonly answer: (reply: PageReply) => void;
}

/** @param now a monotonic clock in milliseconds */
export function makeChangeStore(
  snapshotsDir: string,
  events: ChangeEvents,
  now: () => number,
  join = makeJoinThread(snapshotsDir),
): ChangeStore {
  const parts = new LRUCache<string, JoinedPart>({
    maxSize: MOST_BYTES,
    sizeCalculation: ({ text, starts }) => text.byteLength + starts.byteLength,
  });
  const totals = new LRUCache<string, number>({ max: MOST_REMEMBERED });
  const goneUntil = new LRUCache<string, number>({ max: MOST_REMEMBERED });
  // By key, in the order of the joins. The first one may be under way.
  const queue = new Map<string, Waiting[]>();
  let waitingCount = 0;
  let isJoining = false;

  /** The reply, if no join is needed for it. */
  function findReply(order: PageOrder): PageReply | undefined {
    const { from, to, first } = order;
    if (from === to) return emptyPage(0);
    const list = listKey(order);
    const total = totals.get(list);
    if (total !== undefined && first >= total) return emptyPage(total);
    const part = parts.get(partKey(order));
    if (part !== undefined) return pageOf(part, order);
    return (goneUntil.get(list) ?? Number.NEGATIVE_INFINITY) > now() ? 'gone' : undefined;
  }

  async function joinNext(): Promise<void> {
    const [next] = queue;
    if (isJoining || next === undefined) return;
    const [key, [{ order: wanted }]] = next;
    isJoining = true;
    const reply = await joinPart(key, wanted);
    isJoining = false;
    const waiting = queue.get(key) ?? [];
    queue.delete(key);
    void joinNext();
    for (const [number, { order, answer }] of waiting.entries()) {
      if (number > 0 && number % AT_ONCE === 0) await setImmediate();
      waitingCount--;
      answer(replyTo(order, reply));
    }
  }

  async function joinPart(key: string, order: PageOrder): Promise<JoinReply | undefined> {
    const { from, to } = order;
    const first = partOf(order) * PART_LENGTH;
    const end = first + PART_LENGTH + LONGEST_PAGE;
    const started = now();
    try {
      const reply = await join.join({ from, to, first, end });
      if (reply.outcome === 'joined') {
        totals.set(listKey(order), reply.part.total);
        parts.set(key, reply.part);
      } else goneUntil.set(listKey(order), now() + RETRY_MS);
      events.joined(reply, now() - started);
      return reply;
    } catch (error) {
      events.failed(error as Error);
      return undefined;
    }
  }

  return {
    read(order, answer) {
      const reply = findReply(order);
      if (reply !== undefined) return answer(reply);
      const key = partKey(order);
      const waiting = queue.get(key);
      const isFull = waiting === undefined && queue.size >= MOST_JOINS;
      if (isFull || waitingCount >= MOST_WAITING) return answer('busy');
      waitingCount++;
      if (waiting !== undefined) waiting.push({ order, answer });
      else queue.set(key, [{ order, answer }]);
      void joinNext();
    },
    close: join.close,
  };
}

function listKey({ from, to }: PageOrder): string {
  return `${from} ${to}`;
}

function partKey(order: PageOrder): string {
  return `${listKey(order)} ${partOf(order)}`;
}

function partOf({ first }: PageOrder): number {
  return Math.floor(first / PART_LENGTH);
}

function replyTo(order: PageOrder, reply: JoinReply | undefined): PageReply {
  if (reply === undefined) return 'busy';
  return reply.outcome === 'joined' ? pageOf(reply.part, order) : 'gone';
}

function pageOf({ total, text, starts }: JoinedPart, order: PageOrder): ChangePage {
  const held = starts.length - 1;
  const from = Math.min(order.first % PART_LENGTH, held);
  const to = Math.min(from + order.count, held);
  if (from === to) return emptyPage(total);
  const end = starts[to] - RECORD_SEPARATOR.length;
  return { total, count: to - from, text: text.slice(starts[from], end) };
}

function emptyPage(total: number): ChangePage {
  return { total, count: 0, text: new Uint8Array() };
}
