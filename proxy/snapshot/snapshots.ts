/**
 * The snapshots folder, for the main thread of a proxy: polls `current`, which the generator moves
 * when it publishes, and puts the generation into service.
 *
 * Invariant: a generation serves only after every file of it was checked; when the new one fails,
 * the old one stays.
 */
import { explainDenied } from '../../program/unreadable.ts';
import { currentId } from '../../store/generations/generations.ts';
import type { Generation } from './generation.ts';
import { type GenerationStore, makeGenerationStore, RETRY_MS } from './generation-store.ts';
import { makeThreadGenerations, type ThreadGenerations } from './thread-generations.ts';

export interface SnapshotEvents {
  swapped(generation: Generation, milliseconds: number): void;
  refused(id: string, error: Error): void;
}

export interface Snapshots extends ThreadGenerations {
  /** What the other serving threads get their generations from. */
  readonly store: GenerationStore;
  /** Serves the generation that `current` names. A call while one is under way joins it. */
  refresh(): Promise<void>;
  /** The generation that was published but refused, and why; undefined when there is none. */
  refusal(): { readonly id: string; readonly error: Error } | undefined;
}

/**
 * @param mostMemory in bytes, for the current generation and once more for all others; packs that
 * do not fit are read from disk
 * @param now a monotonic clock in milliseconds
 */
export function openSnapshots(
  snapshotsDir: string,
  mostMemory: number,
  events: SnapshotEvents,
  now: () => number,
): Snapshots {
  const store = makeGenerationStore({ snapshotsDir, mostMemory, now, refused: events.refused });
  const thread = makeThreadGenerations((id) => store.ask(id, thread), now);
  store.join(thread);
  let refused: { id: string; error: Error; at: number } | undefined;
  let refreshing: Promise<void> | undefined;

  async function serveCurrent(): Promise<void> {
    store.closeIdle();
    const id = await readCurrent(snapshotsDir);
    if (id === undefined || id === thread.current()?.id) {
      refused = undefined;
      return;
    }
    if (refused?.id === id && now() - refused.at < RETRY_MS) return;
    const started = now();
    try {
      await store.serve(id);
    } catch (cause) {
      const isNews = refused?.id !== id;
      const error = await explainDenied(cause);
      refused = { id, error, at: now() };
      if (isNews) events.refused(id, error);
      return;
    }
    refused = undefined;
    const generation = thread.current();
    if (generation !== undefined) events.swapped(generation, now() - started);
  }

  return {
    current: thread.current,
    pinned: thread.pinned,
    store,
    refresh() {
      refreshing ??= serveCurrent().finally(() => {
        refreshing = undefined;
      });
      return refreshing;
    },
    refusal: () => refused,
    close() {
      thread.close();
      store.close();
    },
  };
}

/** @throws Error that explains which permission is missing, if one is */
async function readCurrent(snapshotsDir: string): Promise<string | undefined> {
  try {
    return currentId(snapshotsDir);
  } catch (error) {
    throw await explainDenied(error);
  }
}
