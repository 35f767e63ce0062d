/**
 * What the test files of one process leave to be ended or removed. vitest.config.ts lists this module as
 * a set-up file: it is evaluated before each test file, and its hook runs after the last test of it.
 */
import { afterAll } from 'vitest';

const shared = globalThis as { endOfFile?: (() => unknown)[] };
shared.endOfFile ??= [];
const works = shared.endOfFile;

/** Does something when the test file ends: the last thing first. */
export function atEndOfFile(work: () => unknown): void {
  works.push(work);
}

afterAll(async () => {
  for (const work of works.splice(0).reverse()) await work();
});
