/**
 * Disturbs a run at a fixed call of `node:fs`. The call is replaced on the thread of the test: a run writes the
 * packs of a generation on another one.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

/**
 * Does some work in this process, and something else before each call of the function for some files.
 * @param files the path that it is called with, or that of its open file
 * @param disturb may throw, and then the call fails
 */
export async function disturbed<T>(
  name: 'fsyncSync' | 'writeFileSync' | 'renameSync',
  files: RegExp,
  disturb: () => void,
  work: () => Promise<T>,
): Promise<T> {
  const functions = fs as unknown as Record<string, (...args: unknown[]) => unknown>;
  const original = functions[name];
  functions[name] = (...args) => {
    if (files.test(fileOf(args[0]))) disturb();
    return original(...args);
  };
  syncBuiltinESMExports();
  return work().finally(() => {
    functions[name] = original;
    syncBuiltinESMExports();
  });
}

function fileOf(file: unknown): string {
  return typeof file === 'number' ? fs.readlinkSync(`/proc/self/fd/${file}`) : String(file);
}

/** Fails like a disk without space. */
export function noSpace(): never {
  throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
}
