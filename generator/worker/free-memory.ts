/**
 * Frees the memory that this thread has used for what it does not need any more. V8 would do so late: it
 * does not count memory that threads share, and most of a run's memory is of that kind.
 *
 * It needs Node's option `--expose-gc`, with which the programs start a run; without it, it does nothing.
 */
export function freeMemory(): void {
  globalThis.gc?.();
}
