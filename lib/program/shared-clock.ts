/** A monotonic clock in milliseconds that all threads and processes share. */
export function now(): number {
  // Not `performance.now()`, which counts from the start of its thread.
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e3 + nanoseconds / 1e6;
}
