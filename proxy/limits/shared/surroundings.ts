/** The real clock, timers and random names of the shared limits. */
import { randomBytes } from 'node:crypto';
import type { Surroundings } from './connection.ts';

/** @param now the clock of the windows */
export function realSurroundings(now: () => number): Surroundings {
  return {
    now,
    defer: (work) => void setImmediate(work),
    after(milliseconds, work) {
      const timer = setTimeout(work, milliseconds).unref();
      return () => clearTimeout(timer);
    },
    randomText: () => randomBytes(8).toString('hex'),
  };
}
