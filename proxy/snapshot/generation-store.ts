/**
 * Opens generations for all serving threads: the current one, and those that clients request by id. It
 * opens one at a time. A generation that is to become current comes before all others.
 */
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { isPack, MANIFEST } from '../../format/layout.ts';
import { generationDir } from '../../store/generations/generations.ts';
import type { OpenedFiles } from './open-files.ts';
import { makeOpenGenerations, type OpenLimits } from './open-generations.ts';
import type { ServingThread } from './thread-generations.ts';

/** A refused generation is checked again after this time, since the disk may have had a brief fault. */
export const RETRY_MS = 30_000;
/**
 * If a generation had to be closed to make room for another, the store rests for as long as the opening
 * took, but at most this time, before it opens the next one for a client. So clients that request many
 * generations use at most half of one core, and each generation serves for a while before it is closed.
 */
const LONGEST_REST_MS = 5_000;

export interface StoreOptions extends OpenLimits {
  /** Called when a generation that a client requested is damaged or files of it are missing. */
  readonly refused: (id: string, error: Error) => void;
}

export interface GenerationStore {
  /** Adds a serving thread. Call it before the first generation is opened. */
  join(thread: ServingThread): void;
  /**
   * Opens a generation and makes it current in every thread.
   * @throws Error that names the file which is missing or damaged; the old generation stays current
   */
  serve(id: string): Promise<void>;
  /** Hands a generation to the thread; opens it first if it is not open. */
  openFor(thread: ServingThread, id: string): void;
  /** Closes the generations that no request has named for a while. */
  closeIdle(): void;
  /** Each open generation, and how many of its packs are in memory. */
  opened(): { readonly id: string; readonly packsInMemory: number }[];
  close(): void;
}

export function makeGenerationStore(options: StoreOptions): GenerationStore {
  const { snapshotsDir, now } = options;
  const threads: ServingThread[] = [];
  const open = makeOpenGenerations(options, (id) =>
    Promise.all(threads.map((thread) => thread.forget(id))),
  );
  const refusals = makeRefusals(now);
  const waiters = makeWaiters();
  const openings = makeOpenings(openForClients, now);

  /** @returns whether another generation was closed to make room */
  async function openForClients(id: string): Promise<boolean> {
    let hasMadeRoom = false;
    try {
      const files = open.get(id) ?? (await open.open(id, () => (hasMadeRoom = true)));
      waiters.answer(id, files);
    } catch (error) {
      // Report the error only if the generation still exists: it may have been pruned since.
      if (await isKept(snapshotsDir, id)) {
        refusals.add(id);
        options.refused(id, error as Error);
      }
      waiters.answer(id, 'gone');
    }
    return hasMadeRoom;
  }

  function serveOnThreads(files: OpenedFiles): void {
    for (const thread of threads) thread.serve(files);
  }

  return {
    join: (thread) => threads.push(thread),
    async serve(id) {
      try {
        await openings.runFirst(() => open.makeCurrent(id, serveOnThreads));
      } catch (error) {
        refusals.add(id);
        throw error;
      }
    },
    openFor(thread, id) {
      const files = open.get(id) ?? (refusals.has(id) ? 'gone' : undefined);
      if (files !== undefined) return thread.opened(id, files);
      if (!waiters.add(id, thread)) return;
      // If there is no such generation, the answer does not wait in the queue.
      void isKept(snapshotsDir, id).then((kept) => {
        if (kept) openings.enqueue(id);
        else waiters.answer(id, 'gone');
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
      openings.stop();
      open.closeAll();
    },
  };
}

/**
 * Runs one opening at a time: first the one for a new current generation, then those for clients, in
 * the order of the requests.
 * @param openForClients opens a generation; returns whether another one was closed to make room
 */
function makeOpenings(openForClients: (id: string) => Promise<boolean>, now: () => number) {
  const queue: string[] = [];
  let first: (() => Promise<void>) | undefined;
  let isOpening = false;
  let isStopped = false;
  let restsUntil = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;

  /** Starts the next opening, unless one is under way. */
  function advance(): void {
    if (isOpening || isStopped) return;
    clearTimeout(timer);
    if (first !== undefined) {
      const run = first;
      first = undefined;
      start(run);
      return;
    }
    if (queue.length === 0) return;
    const rest = restsUntil - now();
    if (rest > 0) timer = setTimeout(advance, rest);
    else {
      const id = queue.shift() as string;
      start(() => openNext(id));
    }
  }

  function start(run: () => Promise<void>): void {
    isOpening = true;
    void run().finally(() => {
      isOpening = false;
      advance();
    });
  }

  async function openNext(id: string): Promise<void> {
    const started = now();
    const hasMadeRoom = await openForClients(id);
    if (hasMadeRoom) restsUntil = now() + Math.min(now() - started, LONGEST_REST_MS);
  }

  return {
    enqueue(id: string): void {
      queue.push(id);
      advance();
    },
    /** Runs an opening as soon as the one under way has ended. @returns its promise */
    runFirst(open: () => Promise<void>): Promise<void> {
      return new Promise((resolve, reject) => {
        first = () => open().then(resolve, reject);
        advance();
      });
    },
    stop(): void {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

/** For each generation that is not open yet, the threads that wait for it. */
function makeWaiters() {
  const waiting = new Map<string, Set<ServingThread>>();
  return {
    /** @returns whether this thread is the first to wait for the generation */
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
