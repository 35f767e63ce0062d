/**
 * Keeps the generations that are open, for all serving threads together: the current one, and as many
 * others as fit into memory. The caller must open one at a time.
 *
 * Invariant: the generations other than the current one, including one that is being opened, together
 * take at most `mostMemory`, unless there is only one. At most one of them keeps packs in memory: the
 * one that was current before. To make room, the least recently used generation is closed.
 */
import { closeSync } from 'node:fs';
import { LRUCache } from 'lru-cache';
import { generationDir } from '../../store/generations/generations.ts';
import type { OpenedFiles, Replaced } from './open-files.ts';
import { makeOpeningThread } from './opening-thread.ts';

/** How long a generation that is not current stays open after the last request for it. */
const IDLE_MS = 60_000;
/** How many generations may be open besides the current one, regardless of their size. */
const MOST_OTHERS = 8;
/** How many checked files are remembered; each takes about 150 bytes. */
const MOST_IDENTITIES = 50_000;

export interface OpenGenerations {
  get(id: string): OpenedFiles | undefined;
  all(): Iterable<OpenedFiles>;
  /**
   * Makes a generation the current one. Opens it with packs in memory, unless it is already open with them.
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
  const opened = makeOpenedList(now);
  const thread = makeOpeningThread();
  const identities = new LRUCache<string, ReadonlyMap<string, string>>({
    maxSize: MOST_IDENTITIES,
    sizeCalculation: ({ size }) => size + 1,
  });

  // Async functions here take ids, not generations: while such a function waits, its variables keep
  // what they refer to in memory.
  async function close(id: string): Promise<void> {
    const descriptors = opened.descriptorsOf(id);
    opened.remove(id);
    await forget(id);
    descriptors.forEach(closeSync);
  }

  async function makeRoom(bytes: number, onMadeRoom: () => void): Promise<void> {
    for (;;) {
      const ids = opened.others();
      const isRoom = opened.sizeOf(ids) + bytes <= mostMemory && ids.length < MOST_OTHERS;
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
    const current = memory === undefined ? undefined : opened.currentWhole();
    const order = { dir, id, mostMemory: memory, known: identities.get(id), current };
    const files = await thread.open(order, (bytes) => makeRoom(bytes, onMadeRoom));
    identities.set(id, files.identities);
    opened.add(id, files);
    return files;
  }

  async function loadWhole(id: string): Promise<OpenedFiles> {
    const whole = opened.wholeOf(id);
    if (whole !== undefined) return whole;
    // Closes at most one: the generation that was current before the one that now is.
    for (const other of opened.others()) {
      if (opened.wholeOf(other) !== undefined) await close(other);
    }
    if (opened.get(id) !== undefined) await close(id);
    return load(id, mostMemory);
  }

  return {
    get: opened.get,
    all: opened.all,
    async makeCurrent(id, serve) {
      const files = await loadWhole(id);
      opened.setCurrent(id);
      serve(files);
      for (const ids = opened.others(); ids.length > 1 && opened.sizeOf(ids) > mostMemory; ) {
        await close(ids.shift() as string);
      }
    },
    open: (id, onMadeRoom) => load(id, undefined, onMadeRoom),
    closeIdle() {
      for (const id of opened.others()) if (opened.idleTimeOf(id) >= IDLE_MS) void close(id);
    },
    closeAll() {
      thread.close();
      for (const { manifest } of opened.all()) {
        opened.descriptorsOf(manifest.id).forEach(closeSync);
        opened.remove(manifest.id);
      }
    },
  };
}

/** The open generations by id, the current one among them, and when each was last used. */
function makeOpenedList(now: () => number) {
  const opened = new Map<string, OpenedFiles>();
  let currentId: string | undefined;

  function lastUsed(id: string): number {
    return opened.get(id)?.lastUsed[0] ?? 0;
  }

  function noteUse(files: OpenedFiles): void {
    files.lastUsed[0] = now();
  }

  return {
    get: (id: string) => opened.get(id),
    all: () => [...opened.values()],
    add(id: string, files: OpenedFiles): void {
      noteUse(files);
      opened.set(id, files);
    },
    remove: (id: string) => opened.delete(id),
    setCurrent(id: string): void {
      const previous = opened.get(currentId ?? '');
      // Counts as used now, so that it stays open: crawls that began with it continue by its id.
      if (previous !== undefined) noteUse(previous);
      currentId = id;
    },
    /** The ids of all generations but the current one, the least recently used first. */
    others: () =>
      [...opened.keys()].filter((id) => id !== currentId).sort((a, b) => lastUsed(a) - lastUsed(b)),
    /** The current generation, which has packs in memory. */
    currentWhole(): Replaced | undefined {
      const files = opened.get(currentId ?? '');
      if (files === undefined) return undefined;
      const { manifest, contents, identities, prepared } = files;
      return { manifest, contents, identities, prepared };
    },
    /** The generation, if it was opened to become current. */
    wholeOf(id: string): OpenedFiles | undefined {
      const files = opened.get(id);
      return files?.isWhole ? files : undefined;
    },
    idleTimeOf: (id: string) => now() - lastUsed(id),
    sizeOf: (ids: readonly string[]) =>
      ids.reduce((sum, id) => sum + (opened.get(id)?.bytes ?? 0), 0),
    descriptorsOf: (id: string) => [...(opened.get(id)?.descriptors.values() ?? [])],
  };
}
