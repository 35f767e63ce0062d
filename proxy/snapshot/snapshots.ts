/**
 * Reads the snapshots folder in the main thread of a proxy. When the generator publishes, it points
 * `current` to the new generation. Each refresh reads `current` and puts that generation into service,
 * in every serving thread. The generation that it replaces is closed; no request can read from it again.
 *
 * Invariant: a generation is served only after all of its files were checked. If the check of a new
 * generation fails, the old one stays in service.
 */
import { closeSync } from 'node:fs';
import { currentId, generationDir } from '../../generations/generations.ts';
import type { Generation } from './generation.ts';
import type { OpenedFiles, Replaced } from './open-files.ts';
import { makeOpeningThread } from './opening-thread.ts';
import { makeThreadGeneration, type ServingThread } from './thread-generation.ts';

/** A refused generation is checked again after this time, since the disk may have had a brief fault. */
const RETRY_MS = 30_000;

export interface SnapshotEvents {
  swapped(generation: Generation, milliseconds: number): void;
  refused(id: string, error: Error): void;
}

export interface Snapshots {
  /** The generation that answers requests now; undefined before there is a first one. */
  current(): Generation | undefined;
  /** Adds another serving thread. Call it before the first refresh. */
  join(thread: ServingThread): void;
  /** Serves the generation that `current` names. If a refresh is under way, returns its promise. */
  refresh(): Promise<void>;
  /** The published generation and the error, if it was refused; otherwise undefined. */
  refusal(): { readonly id: string; readonly error: Error } | undefined;
  close(): void;
}

/** @param now a monotonic clock in milliseconds */
export function openSnapshots(
  snapshotsDir: string,
  events: SnapshotEvents,
  now: () => number,
): Snapshots {
  const thread = makeThreadGeneration();
  const threads: ServingThread[] = [thread];
  const opening = makeOpeningThread();
  let opened: OpenedFiles | undefined;
  let refused: { id: string; error: Error; at: number } | undefined;
  let refreshing: Promise<void> | undefined;

  async function serveCurrent(): Promise<void> {
    const id = currentId(snapshotsDir);
    if (id === undefined || id === thread.current()?.id) {
      refused = undefined;
      return;
    }
    if (refused?.id === id && now() - refused.at < RETRY_MS) return;
    const started = now();
    try {
      await serve(id);
    } catch (failure) {
      // A replica removes a generation as soon as it has a newer one, which is opened next.
      if (currentId(snapshotsDir) !== id) return;
      const isFirstFailure = refused?.id !== id;
      const error = failure as Error;
      refused = { id, error, at: now() };
      if (isFirstFailure) events.refused(id, error);
      return;
    }
    refused = undefined;
    const generation = thread.current();
    if (generation !== undefined) events.swapped(generation, now() - started);
  }

  async function serve(id: string): Promise<void> {
    const descriptors = [...(opened?.descriptors.values() ?? [])];
    const files = await open(id);
    opened = files;
    await Promise.all(threads.map((each) => each.serve(files)));
    descriptors.forEach(closeSync);
  }

  /**
   * A function of its own, so that `serve` does not refer to the replaced generation while it waits:
   * that would keep its memory in use.
   * @throws Error that names the file which is missing or damaged
   */
  function open(id: string): Promise<OpenedFiles> {
    const dir = generationDir(snapshotsDir, id);
    return opening.open({ dir, id, current: opened && replacedPart(opened) });
  }

  return {
    current: thread.current,
    join: (other) => threads.push(other),
    refresh() {
      refreshing ??= serveCurrent().finally(() => {
        refreshing = undefined;
      });
      return refreshing;
    },
    refusal: () => refused,
    close() {
      opening.close();
      opened?.descriptors.forEach(closeSync);
      opened = undefined;
    },
  };
}

function replacedPart({ manifest, contents, identities, prepared }: OpenedFiles): Replaced {
  return { manifest, contents, identities, prepared };
}
