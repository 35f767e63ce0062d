/**
 * Opens generations for all serving threads together: the current one, and those that clients ask for
 * by name. They are opened one at a time, the next current one first; requests for others wait.
 */
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { MANIFEST } from '../../format/layout.ts';
import { generationDir } from '../../store/generations/generations.ts';
import { isPack, type OpenedFiles } from './open-files.ts';
import { makeOpenGenerations, type OpenLimits } from './open-generations.ts';
import type { ServingThread } from './thread-generations.ts';

/** A generation that was refused is checked again after this, in case the disk had a fault. */
export const RETRY_MS = 30_000;
/**
 * After an opening that had to make room, the next generation that is asked for by name is opened only
 * after a rest as long as the opening took, at most this. So clients that ask for many, one after
 * another, take at most half of one core, and a generation is used before it makes room.
 */
const LONGEST_REST_MS = 5_000;

export interface StoreOptions extends OpenLimits {
  /** A generation that was asked for by name cannot be served. */
  readonly refused: (id: string, error: Error) => void;
}

export interface GenerationStore {
  /** Adds a thread that serves what is opened. Call it before the first generation is opened. */
  join(thread: ServingThread): void;
  /**
   * Makes a generation current, in every thread.
   * @throws Error saying what is missing or damaged, with the file's name; the old one stays
   */
  serve(id: string): Promise<void>;
  /** Opens a generation, unless it is open, and hands it to the thread. */
  ask(id: string, thread: ServingThread): void;
  /** Closes those that no request has named for a while. */
  closeIdle(): void;
  /** The open generations, with how many of their packs are in memory. */
  opened(): { readonly id: string; readonly packsInMemory: number }[];
  close(): void;
}

interface Swap {
  readonly id: string;
  resolve(): void;
  reject(error: unknown): void;
}

export function makeGenerationStore(options: StoreOptions): GenerationStore {
  const { snapshotsDir, now } = options;
  const threads: ServingThread[] = [];
  const open = makeOpenGenerations(options, (id) =>
    Promise.all(threads.map((thread) => thread.forget(id))),
  );
  const refusals = makeRefusals(now);
  const waiters = makeWaiters();
  /** Ids of those that were asked for and are to be opened. */
  const queue: string[] = [];
  let swap: Swap | undefined;
  let isOpening = false;
  let restsUntil = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  async function openAsked(id: string): Promise<void> {
    const started = now();
    let hasMadeRoom = false;
    try {
      const files = open.get(id) ?? (await open.open(id, () => (hasMadeRoom = true)));
      waiters.answer(id, files);
    } catch (error) {
      // If it was pruned meanwhile, it is not at fault.
      if (await isKept(snapshotsDir, id)) {
        refusals.add(id);
        options.refused(id, error as Error);
      }
      waiters.answer(id, 'gone');
    }
    if (hasMadeRoom) restsUntil = now() + Math.min(now() - started, LONGEST_REST_MS);
  }

  /** Opens what is next, unless one is being opened: the next current one before all others. */
  function advance(): void {
    if (isOpening || isClosed) return;
    clearTimeout(timer);
    if (swap !== undefined) {
      const { id, resolve, reject } = swap;
      swap = undefined;
      isOpening = true;
      const serve = (files: OpenedFiles) => {
        for (const thread of threads) thread.serve(files);
      };
      open.makeCurrent(id, serve).then(resolve, reject).finally(goOn);
      return;
    }
    if (queue.length === 0) return;
    const rest = restsUntil - now();
    if (rest > 0) {
      timer = setTimeout(advance, rest);
      return;
    }
    isOpening = true;
    void openAsked(queue.shift() as string).finally(goOn);
  }

  function goOn(): void {
    isOpening = false;
    advance();
  }

  return {
    join: (thread) => threads.push(thread),
    async serve(id) {
      try {
        await new Promise<void>((resolve, reject) => {
          swap = { id, resolve, reject };
          advance();
        });
      } catch (error) {
        refusals.add(id);
        throw error;
      }
    },
    ask(id, thread) {
      const files = open.get(id) ?? (refusals.has(id) ? 'gone' : undefined);
      if (files !== undefined) return thread.opened(id, files);
      if (!waiters.add(id, thread)) return;
      // An id without a generation is answered without waiting in the queue.
      void isKept(snapshotsDir, id).then((kept) => {
        if (!kept) return waiters.answer(id, 'gone');
        queue.push(id);
        advance();
      });
    },
    closeIdle() {
      refusals.removeOld();
      open.closeIdle();
    },
    opened: () =>
      [...open.all()].map(({ manifest, contents }) => ({
        id: manifest.id,
        packsInMemory: [...contents.keys()].filter(isPack).length,
      })),
    close() {
      isClosed = true;
      clearTimeout(timer);
      open.closeAll();
    },
  };
}

/** The threads that asked for generations that are not open. */
function makeWaiters() {
  const waiting = new Map<string, Set<ServingThread>>();
  return {
    /** @returns whether no other thread waits for this generation yet */
    add(id: string, thread: ServingThread): boolean {
      const threads = waiting.get(id);
      if (threads === undefined) waiting.set(id, new Set([thread]));
      else threads.add(thread);
      return threads === undefined;
    },
    answer(id: string, files: OpenedFiles | 'gone'): void {
      const threads = waiting.get(id) ?? [];
      waiting.delete(id);
      for (const thread of threads) thread.opened(id, files);
    },
  };
}

/** The generations that were refused recently. Checking one again is expensive. */
function makeRefusals(now: () => number) {
  const refusedAt = new Map<string, number>();
  const isRecent = (time = Number.NEGATIVE_INFINITY) => now() - time < RETRY_MS;
  return {
    add: (id: string) => refusedAt.set(id, now()),
    has: (id: string) => isRecent(refusedAt.get(id)),
    removeOld() {
      for (const [id, time] of refusedAt) if (!isRecent(time)) refusedAt.delete(id);
    },
  };
}

/** Whether a generation is in the snapshots folder. */
function isKept(snapshotsDir: string, id: string): Promise<boolean> {
  return stat(path.join(generationDir(snapshotsDir, id), MANIFEST)).then(
    () => true,
    () => false,
  );
}
