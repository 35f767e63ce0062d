/**
 * Replaces a small file in one step: a reader sees the old content or the new, also after a crash.
 */
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { syncFolder } from './generations.ts';

/** @param mode the permissions of the new file */
export function replaceFile(file: string, content: string, mode: number): void {
  const next = `${file}.${process.pid}`;
  try {
    const descriptor = openSync(next, 'w', mode);
    try {
      writeFileSync(descriptor, content);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(next, file);
    syncFolder(path.dirname(file));
  } catch (cause) {
    rmSync(next, { force: true });
    throw new Error(`write ${path.basename(file)}: ${(cause as Error).message}`, { cause });
  }
}
