/**
 * Reads the snapshots folder in the main thread of a proxy. When the generator publishes, it points
 * `current` to the new generation. Each refresh reads `current` and puts that generation into service.
 *
 * Invariant: a generation is served only after all of its files were checked. If the check of a new
 * generation fails, the old one stays in service.
 */
import { explainDenied } from '../../program/file-access.ts';
import { currentId } from '../../store/generations/generations.ts';
import type { Generation } from './generation.ts';
import { type GenerationStore, makeGenerationStore, RETRY_MS } from './generation-store.ts';
import { makeThreadGenerations, type ThreadGenerations } from './thread-generations.ts';

export interface SnapshotEvents {
  swapped(generation: Generation, milliseconds: number): void;
  refused(id: string, error: Error): void;
}

export interface Snapshots extends ThreadGenerations {
  /** The store from which the other serving threads get their generations. */
  readonly store: GenerationStore;
  /** Serves the generation that `current` names. If a refresh is under way, returns its promise. */
  refresh(): Promise<void>;
  /** The published generation and the error, if it was refused; otherwise undefined. */
  refusal(): { readonly id: string; readonly error: Error } | undefined;
}

/**
 * @param mostMemory how many bytes the current generation may take, and again all others together;
 * packs that do not fit are read from disk
 * @param now a monotonic clock in milliseconds
 */
export function openSnapshots(
  snapshotsDir: string,
  mostMemory: number,
  events: SnapshotEvents,
  now: () => number,
): Snapshots {
  const store = makeGenerationStore({ snapshotsDir, mostMemory, now, refused: events.refused });
  const thread = makeThreadGenerations((id) => store.openFor(thread, id), now);
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
      const isFirstFailure = refused?.id !== id;
      const error = await explainDenied(cause);
      refused = { id, error, at: now() };
      if (isFirstFailure) events.refused(id, error);
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

/** @throws Error that says which permission is missing, if that is the cause */
async function readCurrent(snapshotsDir: string): Promise<string | undefined> {
  try {
    return currentId(snapshotsDir);
  } catch (error) {
    throw await explainDenied(error);
  }
}
