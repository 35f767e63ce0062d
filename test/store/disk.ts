/** The disk as tests need it: functions of `node:fs` that fail at a fixed point, or are recorded. */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';

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

/**
 * Records the syncs and renames inside a folder while some work runs.
 * @returns one line for each, in the order in which they ended: "fsync" or "rename" and relative paths,
 * which is "" for the folder itself
 */
export async function recordDisk(dir: string, work: () => Promise<unknown>): Promise<string[]> {
  const steps: string[] = [];
  const nameOf = (file: unknown) => path.relative(dir, fileOf(file));
  const { fsync } = fs;
  fs.fsync = ((descriptor: number, done: (error: Error | null) => void) => {
    const name = nameOf(descriptor);
    fsync(descriptor, (error) => {
      if (error === null) steps.push(`fsync ${name}`);
      done(error);
    });
  }) as typeof fsync;
  const restore = [
    replaceFileFunction('fsyncSync', (original, _file, descriptor) => {
      original(descriptor);
      steps.push(`fsync ${nameOf(descriptor)}`);
    }),
    replaceFileFunction('renameSync', (original, _file, from, to) => {
      original(from, to);
      steps.push(`rename ${nameOf(from)} ${nameOf(to)}`);
    }),
  ];
  try {
    await work();
  } finally {
    fs.fsync = fsync;
    for (const each of restore) each();
  }
  return steps;
}
