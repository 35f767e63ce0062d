/** Runs the generator once, like `cover-catalogue generate`. */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Counts } from '../../format/manifest.ts';
import { flagsOf } from '../support/processes.ts';

const PROGRAM = 'generator/cli/main.ts';
const ROOT = path.join(import.meta.dirname, '../..');
const run = promisify(execFile);

/**
 * @returns its own figures
 * @throws Error with its stderr if it fails
 */
export async function runGenerator(
  databaseUrl: string,
  snapshotsDir: string,
): Promise<{ readonly counts: Counts; readonly peak_memory_mb: number }> {
  const { stdout } = await run(process.execPath, [...flagsOf(PROGRAM), PROGRAM, '--json'], {
    cwd: ROOT,
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: databaseUrl,
      SNAPSHOTS_DIR: snapshotsDir,
      SITE_URL: 'https://covers.example',
      FILES_URL: 'https://files.covers.example',
    },
  });
  return JSON.parse(stdout);
}
