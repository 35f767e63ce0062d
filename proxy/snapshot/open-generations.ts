/**
 * Keeps the generations that are open, for all serving threads together: the current one, and as many
 * others as fit into memory. The caller must open one at a time.
 *
 * Invariant: the generations other than the current one, including one that is being opened, together
 * take at most `mostMemory`, unless there is only one. At most one of them keeps packs in memory: the
 * one that was current before. To make room, the least recently used generation is closed.
 */
import { closeSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import { generationDir } from '../../store/generations/generations.ts';
import type { OpenedFiles, OpenOrder } from './open-files.ts';
import type { FromOpenWorker } from './open-worker.ts';

/** How long a generation that is not current stays open after the last request for it. */
const IDLE_MS = 60_000;
/** How many generations may be open besides the current one, whatever their size. */
const MOST_OTHERS = 8;
/** How many checked files are remembered; each takes about 150 bytes. */
const MOST_IDENTITIES = 50_000;

export interface OpenGenerations {
  get(id: string): OpenedFiles | undefined;
  all(): Iterable<OpenedFiles>;
  /**
   * Makes a generation the current one. Opens it with packs in memory, unless it already is open so.
   * @param serve hands the generation to the serving threads
   * @throws Error that names the file which is missing or damaged; the old generation stays current
   */
  makeCurrent(id: string, serve: (files: OpenedFiles) => void): Promise<void>;
  /**
   * Opens a generation that is not open.
   * @param onMadeRoom called when another generation is closed to make room
   * @throws Error that names the file which is missing or damaged
   */
  open(id: string, onMadeRoom: () => void): Promise<OpenedFiles>;
  /** Closes the generations that no request has named for a while. */
  closeIdle(): void;
  closeAll(): void;
}

export interface OpenLimits {
  readonly snapshotsDir: string;
  /** In bytes: for the current generation, and once more for all others. */
  readonly mostMemory: number;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
}

/** @param forget makes every thread drop a generation; resolves when its files can be closed */
export function makeOpenGenerations(
  { snapshotsDir, mostMemory, now }: OpenLimits,
  forget: (id: string) => Promise<unknown>,
): OpenGenerations {
  const opened = new Map<string, OpenedFiles>();
  let currentId: string | undefined;
  const identities = new LRUCache<string, ReadonlyMap<string, string>>({
    maxSize: MOST_IDENTITIES,
    sizeCalculation: ({ size }) => size + 1,
  });

  function lastUsed(id: string): number {
    return opened.get(id)?.lastUsed[0] ?? 0;
  }

  /** The ids of all generations but the current one, the least recently used first. */
  function others(): string[] {
    return [...opened.keys()]
      .filter((id) => id !== currentId)
      .sort((a, b) => lastUsed(a) - lastUsed(b));
  }

  function sizeOf(ids: readonly string[]): number {
    return ids.reduce((sum, id) => sum + (opened.get(id)?.bytes ?? 0), 0);
  }

  function descriptorsOf(id: string): number[] {
    return [...(opened.get(id)?.descriptors.values() ?? [])];
  }

  // Async functions here take ids, not generations: while such a function waits, its variables keep
  // what they refer to in memory.
  async function close(id: string): Promise<void> {
    const descriptors = descriptorsOf(id);
    opened.delete(id);
    await forget(id);
    descriptors.forEach(closeSync);
  }

  async function makeRoom(bytes: number, onMadeRoom: () => void): Promise<void> {
    for (;;) {
      const ids = others();
      const isRoom = sizeOf(ids) + bytes <= mostMemory && ids.length < MOST_OTHERS;
      const [leastRecent] = ids;
      if (isRoom || leastRecent === undefined) return;
      onMadeRoom();
      await close(leastRecent);
    }
  }

  async function load(
    id: string,
    memory: number | undefined,
    onMadeRoom: () => void = () => {},
  ): Promise<OpenedFiles> {
    const dir = generationDir(snapshotsDir, id);
    const order = { dir, id, mostMemory: memory, known: identities.get(id) };
    const files = await runWorker(order, (bytes) => makeRoom(bytes, onMadeRoom));
    identities.set(id, files.identities);
    files.lastUsed[0] = now();
    opened.set(id, files);
    return files;
  }

  /** A generation, if it was opened to become current. */
  function wholeOf(id: string): OpenedFiles | undefined {
    const files = opened.get(id);
    return files?.isWhole ? files : undefined;
  }

  async function loadWhole(id: string): Promise<OpenedFiles> {
    const whole = wholeOf(id);
    if (whole !== undefined) return whole;
    // Closes at most one: the generation that was current before the one that now is.
    for (const other of others()) if (wholeOf(other) !== undefined) await close(other);
    if (opened.has(id)) await close(id);
    return load(id, mostMemory);
  }

  function setCurrent(id: string): void {
    const previous = opened.get(currentId ?? '');
    // Counts as used now, so that it stays open: crawls that began with it continue by its id.
    if (previous !== undefined) previous.lastUsed[0] = now();
    currentId = id;
  }

  return {
    get: (id) => opened.get(id),
    all: () => opened.values(),
    async makeCurrent(id, serve) {
      const files = await loadWhole(id);
      setCurrent(id);
      serve(files);
      for (const ids = others(); ids.length > 1 && sizeOf(ids) > mostMemory; ) {
        await close(ids.shift() as string);
      }
    },
    open: (id, onMadeRoom) => load(id, undefined, onMadeRoom),
    closeIdle() {
      for (const id of others()) if (now() - lastUsed(id) >= IDLE_MS) void close(id);
    },
    closeAll() {
      for (const id of opened.keys()) descriptorsOf(id).forEach(closeSync);
      opened.clear();
    },
  };
}

/**
 * Opens a generation on a thread of its own.
 * @param makeRoom awaited before memory is allocated
 */
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
