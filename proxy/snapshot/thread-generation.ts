/**
 * The generation that one serving thread answers from. Invariant: a request uses it within one call, so
 * once the thread has the next one, nothing reads from the one before, and its packs can be closed.
 */
import { setImmediate } from 'node:timers/promises';
import { collectGarbage } from './collect-garbage.ts';
import { type Generation, makeGeneration } from './generation.ts';
import type { OpenedFiles } from './open-files.ts';

/** What the first thread needs of a serving thread. */
export interface ServingThread {
  /** From now on, answers from these files. Resolves when the memory of the generation before is free. */
  serve(files: OpenedFiles): Promise<void>;
}

export interface ThreadGeneration extends ServingThread {
  /** The generation that answers requests now; undefined before there is a first one. */
  current(): Generation | undefined;
}

export function makeThreadGeneration(): ThreadGeneration {
  let current: Generation | undefined;
  return {
    current: () => current,
    async serve(files) {
      const isFirst = current === undefined;
      current = makeGeneration(files);
      if (isFirst) return;
      // In a separate task: functions that are still on the stack may refer to the generation before.
      await setImmediate();
      collectGarbage();
    },
  };
}
