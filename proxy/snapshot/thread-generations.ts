/**
 * The generations that one serving thread answers from: the current one, and those that clients ask
 * for by name. The store in the main thread decides which are open; this holds the thread's views
 * of them and the requests that wait for one.
 *
 * Invariant: a request uses a generation within one call, and a request that has waited is answered
 * before the generation is forgotten.
 */
import { setImmediate } from 'node:timers/promises';
import { isGenerationId } from '../../format/layout.ts';
import { collectGarbage } from './collect-garbage.ts';
import { type Generation, makeGeneration } from './generation.ts';
import type { OpenedFiles } from './open-files.ts';

/** How many requests of one thread may wait for generations to be opened. */
export const MOST_WAITING = 2_000;
/** How many of the waiting requests are answered before other requests are served. */
const AT_ONCE = 4;

/** Why a generation that was asked for by name cannot answer: it is not kept, or too many wait. */
export type Unavailable = 'gone' | 'busy';

type Use = (generation: Generation | Unavailable) => void;

/** What the store calls; each thread gets its calls in order. */
export interface ServingThread {
  /** From now on this generation answers requests that do not name one. */
  serve(files: OpenedFiles): void;
  /** Answers {@link AskStore}. */
  opened(id: string, files: OpenedFiles | 'gone'): void;
  /** Drops a generation that is not current; its memory is free when this resolves. */
  forget(id: string): Promise<void>;
}

/** Asks the store for a generation. */
export type AskStore = (id: string) => void;

export interface ThreadGenerations {
  /** What answers now; undefined before the first generation. */
  current(): Generation | undefined;
  /**
   * Calls `use` with a generation by its id: at once if the generation is open, otherwise as soon as
   * it is. `use` must not keep it after it has returned, and must not throw.
   */
  pinned(id: string, use: Use): void;
  close(): void;
}

interface Entry {
  readonly generation: Generation;
  readonly lastUsed: Float64Array;
  /** Resolves when the requests that waited for it are answered. */
  answering: Promise<void>;
}

/** @param now the clock that the threads share, in milliseconds */
export function makeThreadGenerations(
  ask: AskStore,
  now: () => number,
): ThreadGenerations & ServingThread {
  const entries = new Map<string, Entry>();
  const waiting = new Map<string, Use[]>();
  let waitingCount = 0;
  let current: Generation | undefined;

  function entryOf(files: OpenedFiles): Entry {
    const { id } = files.manifest;
    const known = entries.get(id);
    if (known !== undefined) return known;
    const generation = makeGeneration(files);
    const entry = { generation, lastUsed: files.lastUsed, answering: Promise.resolve() };
    entries.set(id, entry);
    return entry;
  }

  /** Resolves when nothing refers to a generation any more; undefined when the thread does not have it. */
  function close(id: string): Promise<void> | undefined {
    const entry = entries.get(id);
    entries.delete(id);
    return entry?.answering.then(() => entry.generation.close());
  }

  return {
    current: () => current,
    pinned(id, use) {
      if (id === current?.id) return use(current);
      if (!isGenerationId(id)) return use('gone');
      const known = entries.get(id);
      if (known !== undefined) {
        known.lastUsed[0] = now();
        return use(known.generation);
      }
      if (waitingCount >= MOST_WAITING) return use('busy');
      waitingCount++;
      const others = waiting.get(id);
      if (others !== undefined) {
        others.push(use);
        return;
      }
      waiting.set(id, [use]);
      ask(id);
    },
    serve(files) {
      current = entryOf(files).generation;
    },
    opened(id, files) {
      const uses = waiting.get(id) ?? [];
      waiting.delete(id);
      waitingCount -= uses.length;
      if (files === 'gone') {
        for (const use of uses) use('gone');
        return;
      }
      const entry = entryOf(files);
      entry.lastUsed[0] = now();
      entry.answering = answerAll(uses, entry.generation);
    },
    async forget(id) {
      const closing = close(id);
      if (closing === undefined) return;
      await closing;
      // In a task of its own: a call under way may still refer to what it has used.
      await setImmediate();
      collectGarbage();
    },
    close() {
      for (const { generation } of entries.values()) generation.close();
      entries.clear();
    },
  };
}

async function answerAll(uses: readonly Use[], generation: Generation): Promise<void> {
  for (const [number, use] of uses.entries()) {
    if (number > 0 && number % AT_ONCE === 0) await setImmediate();
    use(generation);
  }
}
