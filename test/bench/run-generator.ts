/** Runs `cover-catalogue generate` once. */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Counts } from '../../format/manifest.ts';

const ROOT = path.join(import.meta.dirname, '../..');
const run = promisify(execFile);

/**
 * @param variables of the environment, beyond those that each run gets
 * @returns its own figures
 * @throws Error with its stderr if it fails
 */
export async function runGenerator(
  databaseUrl: string,
  snapshotsDir: string,
  variables: Readonly<Record<string, string>> = {},
): Promise<{
  readonly counts: Counts;
  readonly peak_memory_mb: number;
  readonly read_all_because: string | null;
  readonly stages: Readonly<Record<string, number>>;
}> {
  const { stdout } = await run('bin/cover-catalogue', ['generate', '--json'], {
    cwd: ROOT,
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: databaseUrl,
      SNAPSHOTS_DIR: snapshotsDir,
      SITE_URL: 'https://covers.example',
      FILES_URL: 'https://files.covers.example',
      ...variables,
    },
  });
  return JSON.parse(stdout);
}
