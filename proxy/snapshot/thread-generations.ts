/**
 * The generations that one serving thread answers from: the current one, and those that clients request
 * by id. The store in the main thread decides which generations are open. This module keeps the thread's
 * views of them, and the requests that wait for a generation to be opened.
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

/**
 * Why a generation that was requested by id cannot answer: it is not kept (gone), or too many requests
 * wait for generations (busy).
 */
export type Unavailable = 'gone' | 'busy';

type Use = (generation: Generation | Unavailable) => void;

/** The calls of the store to one serving thread. The thread receives them in order. */
export interface ServingThread {
  /** From now on, this generation answers the requests that do not name a generation. */
  serve(files: OpenedFiles): void;
  /** The answer to {@link OpenInStore}. */
  opened(id: string, files: OpenedFiles | 'gone'): void;
  /** Drops a generation that is not current; its memory is free when this resolves. */
  forget(id: string): Promise<void>;
}

/** Tells the store to open a generation for the thread. */
export type OpenInStore = (id: string) => void;

export interface ThreadGenerations {
  /** The generation that answers requests now; undefined before there is a first one. */
  current(): Generation | undefined;
  /**
   * Calls `use` with the generation of an id: at once if it is open, otherwise as soon as it is. `use`
   * must not throw, and must not refer to the generation after it has returned.
   */
  pinned(id: string, use: Use): void;
  close(): void;
}

interface Entry {
  readonly generation: Generation;
  readonly lastUsed: Float64Array;
  /** Resolves when the requests that waited for the generation are answered. */
  answering: Promise<void>;
}

/** @param now the clock that the threads share, in milliseconds */
export function makeThreadGenerations(
  openInStore: OpenInStore,
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

  /** Resolves when the generation is closed; undefined if the thread does not have it. */
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
      openInStore(id);
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
      // In a separate task: functions that are still on the stack may refer to the generation.
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
