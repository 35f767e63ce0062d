/**
 * Lets Node keep the compiled code of the runs that `schedule` starts. Without it, each run strips the
 * types from the sources and compiles them, which takes 0.3 s of processor time and 30 MB.
 */
import { chmodSync, existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { COMPILE_CACHE } from '../../format/layout.ts';

/** @returns the variables of the environment for a run; none if the folder cannot be used */
export function compileCacheIn(snapshotsDir: string): { readonly NODE_COMPILE_CACHE?: string } {
  if (process.env.NODE_COMPILE_CACHE !== undefined) return {};
  const dir = path.resolve(snapshotsDir, COMPILE_CACHE);
  try {
    if (!existsSync(dir)) mkdirSync(dir, { mode: 0o700 });
    // Fails if the folder belongs to somebody else, whose code would run here.
    chmodSync(dir, 0o700);
    return { NODE_COMPILE_CACHE: dir };
  } catch {
    // The snapshots folder does not exist before the first run.
    return {};
  }
}
