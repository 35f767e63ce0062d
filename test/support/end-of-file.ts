/**
 * What the test files of one process leave to be ended or removed. vitest.config.ts lists this module as
 * a set-up file: it is evaluated before each test file, and its hook runs after the last test of it. A file
 * whose set-up throws has no tests, and so no hook: what it left ends before the next file, or with the process.
 */
import { afterAll } from 'vitest';

const shared = globalThis as { endOfFile?: (() => unknown)[] };
const isFirst = shared.endOfFile === undefined;
shared.endOfFile ??= [];
const works = shared.endOfFile;

/** Does something when the test file ends: the last thing first. */
export function atEndOfFile(work: () => unknown): void {
  works.push(work);
}

async function endAll(): Promise<void> {
  for (const work of works.splice(0).reverse()) await work();
}

// vitest kills the process half a second after this signal, so nothing waits for anything else.
if (isFirst) {
  process.once('SIGTERM', async () => {
    await Promise.allSettled(works.splice(0).map(async (work) => work()));
    process.exit();
  });
}
await endAll();
afterAll(endAll);
