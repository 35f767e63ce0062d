/** The key check of all Node alternatives: the raw key in a Map, the fastest possible check. */

const keys = new Map([[process.env.BENCH_KEY, { limit: 100_000_000, count: 0, windowEnd: 0 }]]);
const WINDOW_MS = 60_000;

/** @returns the record of a raw key, or undefined */
export function findKey(rawKey) {
  return keys.get(rawKey);
}

/** Counts in a fixed window, the fastest kind of limit. @returns whether the request is admitted */
export function admit(record) {
  const now = performance.now();
  if (now >= record.windowEnd) {
    record.windowEnd = now + WINDOW_MS;
    record.count = 0;
  }
  return ++record.count <= record.limit;
}

/** Whole seconds until the window ends. */
export function secondsLeft(record) {
  return Math.ceil((record.windowEnd - performance.now()) / 1000);
}

/** Every target of BENCH_TARGETS, one per line, with its file below BENCH_FILES. */
export async function* targets() {
  const { readFileSync } = await import('node:fs');
  for (const line of readFileSync(process.env.BENCH_TARGETS, 'utf8').trimEnd().split('\n')) {
    yield { target: line, file: process.env.BENCH_FILES + line.split('?', 1)[0] };
  }
}
