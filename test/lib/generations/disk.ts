/** Disturbs or records calls of `node:fs` while a test does some work in this process. */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';

// biome-ignore lint/suspicious/noExplicitAny: functions of any kind are replaced
type Call = (...args: any[]) => unknown;
const functions = fs as unknown as Record<string, Call>;

/**
 * Does something else before each call of the function for some files.
 * @param files the path that it is called with, or that of its open file
 * @param disturb may throw, and then the call fails
 */
export function disturbed<T>(
  name: 'fsyncSync' | 'writeFileSync' | 'renameSync' | 'rmSync',
  files: RegExp,
  disturb: () => void,
  work: () => Promise<T>,
): Promise<T> {
  const original = functions[name];
  const replacement: Call = (...args) => {
    if (files.test(fileOf(args[0]))) disturb();
    return original(...args);
  };
  return replacing({ [name]: replacement }, work);
}

/** Fails like a disk without space. */
export function noSpace(): never {
  throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
}

/** @returns each sync and rename inside the folder, in the order in which they ended */
export async function recorded(dir: string, work: () => Promise<unknown>): Promise<string[]> {
  const steps: string[] = [];
  const record = (...[step, ...files]: [string, ...string[]]) => {
    const names = files.map((file) => path.relative(dir, file));
    if (!names[0]?.startsWith('..')) steps.push([step, ...names].join(' '));
  };
  const { fsync, fsyncSync, renameSync } = fs;
  const replacements: Record<string, Call> = {
    fsyncSync(descriptor) {
      fsyncSync(descriptor);
      record('fsync', fileOf(descriptor));
    },
    fsync(descriptor, done) {
      const file = fileOf(descriptor);
      fsync(descriptor, (error) => {
        record('fsync', file);
        done(error);
      });
    },
    renameSync(from, to) {
      renameSync(from, to);
      record('rename', from, to);
    },
  };
  await replacing(replacements, work);
  return steps;
}

async function replacing<T>(replacements: Record<string, Call>, work: () => Promise<T>) {
  const originals = Object.fromEntries(
    Object.keys(replacements).map((name) => [name, functions[name]]),
  );
  Object.assign(functions, replacements);
  syncBuiltinESMExports();
  return work().finally(() => {
    Object.assign(functions, originals);
    syncBuiltinESMExports();
  });
}

function fileOf(file: unknown): string {
  return typeof file === 'number' ? fs.readlinkSync(`/proc/self/fd/${file}`) : String(file);
}
