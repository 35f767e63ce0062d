/**
 * What the shared limits need from their surroundings: a connection to the store, a clock, timers and
 * random names. A simulation replaces them; `redis-connection.ts` and `surroundings.ts` are the real ones.
 */
import type { ScriptName } from './scripts.ts';

/** One connection to the store. It connects by itself, and again whenever it was lost. */
export interface StoreConnection {
  /**
   * The id of the server process that the connection leads to, which changes when the server restarts
   * or another one takes over; undefined while there is no connection.
   */
  server(): string | undefined;
  /** Why there is no connection, or which setting of the server makes the limits unsafe. */
  fault(): string | undefined;
  /**
   * Runs a script. A command that waits when the connection is lost fails; it is never sent again.
   * @throws Error if there is no connection, or the server refuses
   */
  run(
    script: ScriptName,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<readonly unknown[]>;
  /** Drops a connection that does not answer, and connects again. */
  reset(): void;
  close(): void;
}

export interface Surroundings {
  /** A monotonic clock in milliseconds, the one of the windows. */
  now(): number;
  /** Calls a function once the present turn of the event loop has handled what arrived. */
  defer(work: () => void): void;
  /** Calls a function later. @returns a function that cancels the call */
  after(milliseconds: number, work: () => void): () => void;
  /** A random text of letters and digits that nobody else gets. */
  randomText(): string;
}

/** The reply to a command did not come in time. */
export class StoreTimeout extends Error {
  override readonly name = 'StoreTimeout';
}
