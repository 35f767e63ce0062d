/**
 * Functions of `node:fs` that fail, or do something else, at a fixed point. They are replaced on the thread of
 * the test: a run writes the packs of a generation on another one.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

type Name = 'writeSync' | 'fsyncSync' | 'writeFileSync' | 'renameSync';

/**
 * Replaces a function for all modules of this process.
 * @param file the path that it is called with, or that of its open file
 * @returns what restores it
 */
export function replaceFileFunction(
  name: Name,
  // biome-ignore lint/suspicious/noExplicitAny: functions of any kind are passed on
  replacement: (original: any, file: string, ...args: any[]) => any,
): () => void {
  const original = fs[name];
  const functions = fs as unknown as Record<string, unknown>;
  functions[name] = (...args: unknown[]) => replacement(original, fileOf(args[0]), ...args);
  syncBuiltinESMExports();
  return () => {
    functions[name] = original;
    syncBuiltinESMExports();
  };
}

function fileOf(file: unknown): string {
  return typeof file === 'number' ? fs.readlinkSync(`/proc/self/fd/${file}`) : String(file);
}

/** The error of a disk without space. */
export const noSpace = () =>
  Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
