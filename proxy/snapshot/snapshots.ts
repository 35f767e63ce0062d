/**
 * The generations that the proxy holds open: the current one, replaced in one step when the
 * generator publishes another, and older ones that clients still ask for by name.
 *
 * Invariant: a generation serves only after every file of it was checked; when the new one fails,
 * the old one stays.
 */
import { readlink, stat } from 'node:fs/promises';
import path from 'node:path';
import { CURRENT, GENERATIONS, isGenerationId, MANIFEST } from '../../format/layout.ts';
import { type Generation, openGeneration } from './generation.ts';
import type { FileSource } from './opened-files.ts';

/** How long an older generation stays open after the last request for it. */
const IDLE_MS = 60_000;
/** A generation that was refused is looked at again after this, in case the disk had a fault. */
const RETRY_MS = 30_000;

export interface SnapshotEvents {
  swapped(generation: Generation, milliseconds: number): void;
  refused(id: string, error: Error): void;
}

export interface Snapshots {
  /** What answers now; undefined before the first generation. */
  current(): Generation | undefined;
  /**
   * A kept generation by its id, opened if need be.
   * @returns undefined when there is none such any more
   */
  pinned(id: string): Generation | Promise<Generation | undefined> | undefined;
  /** Follows `current`; at most one check at a time. */
  refresh(): Promise<void>;
  /** The generation that was published but refused, and why; undefined when there is none. */
  refusal(): { readonly id: string; readonly error: Error } | undefined;
  close(): void;
}

interface Entry {
  readonly opening: Promise<Generation>;
  opened?: Generation;
  lastUsed: number;
}

/** @param now a monotonic clock in milliseconds */
export function openSnapshots(
  snapshotsDir: string,
  source: FileSource,
  events: SnapshotEvents,
  now: () => number,
): Snapshots {
  const entries = new Map<string, Entry>();
  let current: Generation | undefined;
  let refused: { id: string; error: Error; at: number } | undefined;
  // When a generation that was asked for by name failed: to check it takes long, to ask does not.
  const failedAt = new Map<string, number>();
  let refreshing: Promise<void> | undefined;

  /** The entry of a generation; opens it if it is not open, once however many ask. */
  function entryOf(id: string): Entry {
    const known = entries.get(id);
    if (known !== undefined) return known;
    const opening = openGeneration(source, id);
    const entry: Entry = { opening, lastUsed: now() };
    entries.set(id, entry);
    opening.then(
      (generation) => {
        entry.opened = generation;
        entry.lastUsed = now();
      },
      () => entries.delete(id),
    );
    return entry;
  }

  async function followCurrent(): Promise<void> {
    closeIdle();
    const id = await readCurrent(snapshotsDir);
    if (id === undefined || id === current?.id) {
      refused = undefined;
      return;
    }
    if (refused?.id === id && now() - refused.at < RETRY_MS) return;
    const started = now();
    const previous = current === undefined ? undefined : entries.get(current.id);
    try {
      current = await entryOf(id).opening;
      // Crawls that began on the previous generation go on with it.
      if (previous !== undefined) previous.lastUsed = now();
    } catch (error) {
      const isNews = refused?.id !== id;
      refused = { id, error: error as Error, at: now() };
      failedAt.set(id, now());
      if (isNews) events.refused(id, error as Error);
      return;
    }
    refused = undefined;
    events.swapped(current, now() - started);
  }

  function closeIdle(): void {
    for (const [id, at] of failedAt) if (now() - at >= RETRY_MS) failedAt.delete(id);
    for (const [id, { opened, lastUsed }] of entries) {
      if (opened === undefined || opened === current || now() - lastUsed < IDLE_MS) continue;
      entries.delete(id);
      opened.close();
    }
  }

  function pinned(id: string): Generation | Promise<Generation | undefined> | undefined {
    if (id === current?.id) return current;
    if (!isGenerationId(id)) return undefined;
    const entry = entries.get(id);
    if (entry === undefined) return openKept(id);
    entry.lastUsed = now();
    return entry.opened ?? entry.opening.catch(() => undefined);
  }

  async function openKept(id: string): Promise<Generation | undefined> {
    if (now() - (failedAt.get(id) ?? Number.NEGATIVE_INFINITY) < RETRY_MS) return undefined;
    try {
      await stat(path.join(snapshotsDir, GENERATIONS, id, MANIFEST));
    } catch {
      return undefined;
    }
    try {
      return await entryOf(id).opening;
    } catch (error) {
      // Others may have waited for the same opening: it is said once.
      if (now() - (failedAt.get(id) ?? Number.NEGATIVE_INFINITY) >= RETRY_MS) {
        events.refused(id, error as Error);
      }
      failedAt.set(id, now());
      return undefined;
    }
  }

  return {
    current: () => current,
    pinned,
    refresh() {
      refreshing ??= followCurrent().finally(() => {
        refreshing = undefined;
      });
      return refreshing;
    },
    refusal: () => refused,
    close() {
      for (const { opened } of entries.values()) opened?.close();
      entries.clear();
    },
  };
}

/** The id that `current` points to; undefined before the first generation. */
async function readCurrent(snapshotsDir: string): Promise<string | undefined> {
  let target: string;
  try {
    target = await readlink(path.join(snapshotsDir, CURRENT));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  const id = path.basename(target);
  if (!isGenerationId(id))
    throw new Error(`"${CURRENT}" points to ${target}, which is no generation.`);
  return id;
}
