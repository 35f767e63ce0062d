/** `performance.now()` counts from the start of its thread. Adding this makes all threads agree. */
const CLOCK_OFFSET_MS = (() => {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e3 + nanoseconds / 1e6 - performance.now();
})();

/** A monotonic clock in milliseconds that all threads and processes share. */
export function now(): number {
  return CLOCK_OFFSET_MS + performance.now();
}
