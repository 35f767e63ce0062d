/**
 * Opens generations for all serving threads together: the current one, and as many of those that
 * clients ask for by name as fit. They are opened one at a time; requests for others wait.
 *
 * Invariant: apart from the current generation, those that are open or being opened take at most
 * `mostMemory`, unless there is only one. At most one of them keeps packs in memory: the one that was
 * current before. The least recently used makes room.
 */
import { closeSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import { GENERATIONS, MANIFEST } from '../../format/layout.ts';
import type { OpenedFiles, OpenOrder } from './open-files.ts';
import type { FromOpenWorker } from './open-worker.ts';
import type { ServingThread } from './thread-generations.ts';

/** How long a generation that is not current stays open after the last request for it. */
const IDLE_MS = 60_000;
/** A generation that was refused is checked again after this, in case the disk had a fault. */
export const RETRY_MS = 30_000;
/** How many may be open besides the current one, whatever their size. */
const MOST_OTHERS = 8;
/** How many files are remembered as checked; each takes about 150 bytes. */
const MOST_IDENTITIES = 50_000;
/**
 * After an opening that had to make room, the next generation that is asked for by name is opened only
 * after a rest as long as the opening took, at most this. So clients that ask for many, one after
 * another, take at most half of one core, and a generation is used before it makes room.
 */
const LONGEST_REST_MS = 5_000;

export interface StoreOptions {
  readonly snapshotsDir: string;
  /** In bytes: for the current generation, and once more for all others. */
  readonly mostMemory: number;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
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
  /** Closes those that nobody asked for recently. */
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
  const { snapshotsDir, mostMemory, now } = options;
  const threads: ServingThread[] = [];
  const open = new Map<string, OpenedFiles>();
  let currentId: string | undefined;
  // To ask for a refused generation again is cheap, to check it again is not.
  const failedAt = new Map<string, number>();
  const identities = new LRUCache<string, ReadonlyMap<string, string>>({
    maxSize: MOST_IDENTITIES,
    sizeCalculation: ({ size }) => size + 1,
  });
  /** By id, the threads that asked for a generation that is not open. */
  const asked = new Map<string, Set<ServingThread>>();
  /** Ids of those that were asked for and are to be opened. */
  const queue: string[] = [];
  let swap: Swap | undefined;
  let isOpening = false;
  let restsUntil = Number.NEGATIVE_INFINITY;
  let hasMadeRoom = false;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  /** Ids of all that are open but the current one, the least recently used first. */
  function others(): string[] {
    const lastUsed = (id: string) => open.get(id)?.lastUsed[0] ?? 0;
    return [...open.keys()]
      .filter((id) => id !== currentId)
      .sort((a, b) => lastUsed(a) - lastUsed(b));
  }

  function sizeOf(ids: readonly string[]): number {
    return ids.reduce((sum, id) => sum + (open.get(id)?.bytes ?? 0), 0);
  }

  // Takes the id, not the files: what a call under way refers to would not be collected.
  async function letGo(id: string): Promise<void> {
    const descriptors = descriptorsOf(id);
    open.delete(id);
    await Promise.all(threads.map((thread) => thread.forget(id)));
    descriptors.forEach(closeSync);
  }

  function descriptorsOf(id: string): number[] {
    return [...(open.get(id)?.descriptors.values() ?? [])];
  }

  async function makeRoom(bytes: number): Promise<void> {
    for (;;) {
      const ids = others();
      const isRoom = sizeOf(ids) + bytes <= mostMemory && ids.length < MOST_OTHERS;
      const [least] = ids;
      if (isRoom || least === undefined) return;
      hasMadeRoom = true;
      await letGo(least);
    }
  }

  async function load(id: string, memory: number | undefined): Promise<OpenedFiles> {
    const dir = path.join(snapshotsDir, GENERATIONS, id);
    const files = await runWorker(
      { dir, id, mostMemory: memory, known: identities.get(id) },
      makeRoom,
    );
    identities.set(id, files.identities);
    files.lastUsed[0] = now();
    open.set(id, files);
    return files;
  }

  async function openCurrent({ id }: Swap): Promise<void> {
    const whole = others().filter((other) => open.get(other)?.isWhole);
    if (!whole.includes(id)) {
      // At most the one that was current before the present one, which takes its place.
      for (const other of whole) await letGo(other);
      if (open.has(id)) await letGo(id);
      await load(id, mostMemory);
    }
    swapTo(id);
    for (const ids = others(); ids.length > 1 && sizeOf(ids) > mostMemory; ) {
      await letGo(ids.shift() as string);
    }
  }

  function swapTo(id: string): void {
    const previous = open.get(currentId ?? '');
    // Crawls that began on it continue with it.
    if (previous !== undefined) previous.lastUsed[0] = now();
    currentId = id;
    for (const thread of threads) thread.serve(open.get(id) as OpenedFiles);
  }

  async function openAsked(id: string): Promise<void> {
    const started = now();
    hasMadeRoom = false;
    try {
      answer(id, open.get(id) ?? (await load(id, undefined)));
    } catch (error) {
      // If it was pruned meanwhile, it is not at fault.
      if (await isKept(id)) {
        failedAt.set(id, now());
        options.refused(id, error as Error);
      }
      answer(id, 'gone');
    }
    if (hasMadeRoom) restsUntil = now() + Math.min(now() - started, LONGEST_REST_MS);
  }

  function isKept(id: string): Promise<boolean> {
    const manifest = path.join(snapshotsDir, GENERATIONS, id, MANIFEST);
    return stat(manifest).then(
      () => true,
      () => false,
    );
  }

  function answer(id: string, files: OpenedFiles | 'gone'): void {
    const waiting = asked.get(id) ?? [];
    asked.delete(id);
    for (const thread of waiting) thread.opened(id, files);
  }

  /** Opens what is next, unless one is being opened: the next current one before all others. */
  function advance(): void {
    if (isOpening || isClosed) return;
    clearTimeout(timer);
    if (swap !== undefined) {
      const { resolve, reject } = swap;
      isOpening = true;
      openCurrent(swap).then(resolve, reject).finally(goOn);
      swap = undefined;
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

  function hasFailed(id: string): boolean {
    return now() - (failedAt.get(id) ?? Number.NEGATIVE_INFINITY) < RETRY_MS;
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
        failedAt.set(id, now());
        throw error;
      }
    },
    ask(id, thread) {
      const files = open.get(id) ?? (hasFailed(id) ? 'gone' : undefined);
      if (files !== undefined) return thread.opened(id, files);
      const waiting = asked.get(id);
      if (waiting !== undefined) {
        waiting.add(thread);
        return;
      }
      asked.set(id, new Set([thread]));
      // An id without a generation is answered without waiting in the queue.
      void isKept(id).then((kept) => {
        if (!kept) return answer(id, 'gone');
        queue.push(id);
        advance();
      });
    },
    closeIdle() {
      for (const [id, at] of failedAt) if (now() - at >= RETRY_MS) failedAt.delete(id);
      for (const id of others()) {
        if (now() - (open.get(id)?.lastUsed[0] ?? 0) >= IDLE_MS) void letGo(id);
      }
    },
    opened: () =>
      [...open].map(([id, { contents }]) => ({
        id,
        packsInMemory: [...contents.keys()].filter((name) => /^(?:games|covers)\//.test(name))
          .length,
      })),
    close() {
      isClosed = true;
      clearTimeout(timer);
      for (const id of open.keys()) descriptorsOf(id).forEach(closeSync);
      open.clear();
    },
  };
}

/** Opens a generation on a thread of its own. @param makeRoom awaited before memory is allocated */
function runWorker(
  order: OpenOrder,
  makeRoom: (bytes: number) => Promise<void>,
): Promise<OpenedFiles> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./open-worker.ts', import.meta.url), {
      workerData: order,
      // The descriptors outlive the worker; they are closed with the generation.
      trackUnmanagedFds: false,
    });
    worker.on('message', (message: FromOpenWorker) => {
      if ('files' in message) resolve(message.files);
      else makeRoom(message.bytes).then(() => worker.postMessage('go on'), reject);
    });
    worker.once('error', reject);
    worker.once('exit', (code) => reject(new Error(`The opening thread ended with ${code}.`)));
  });
}
