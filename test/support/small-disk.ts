/** A disk of a few megabytes, which a test can really fill. */
import { type ChildProcess, spawn } from 'node:child_process';
import { statfsSync } from 'node:fs';
import path from 'node:path';
import { end, type Finished, makeFolder, ROOT } from './product.ts';
import { finishInTime } from './wholeness.ts';

/**
 * A file system of a few megabytes in memory, mounted where only a process of its own sees it, so
 * that it goes with that process.
 * @returns undefined where mounting is not allowed
 */
export async function mountSmallDisk(kilobytes: number) {
  const folder = makeFolder();
  const script = `mount -t tmpfs -o size=${kilobytes}k tmpfs "$0" && echo mounted && cat`;
  const holder: ChildProcess = spawn('unshare', ['-rm', 'sh', '-c', script, folder], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const isMounted = await new Promise<boolean>((resolve) => {
    holder.stdout?.once('data', () => resolve(true));
    holder.once('error', () => resolve(false));
    holder.once('exit', () => resolve(false));
  });
  if (!isMounted) return undefined;
  return {
    /** From here; SQLite would look for the files of the lock elsewhere. */
    root: `/proc/${holder.pid}/root${folder}`,
    /** Runs a program of the product where the disk stands at `folder`, with its snapshots on it. */
    run(
      program: string,
      args: readonly string[],
      environment: Readonly<Record<string, string>> = {},
    ): Promise<Finished> {
      const target = ['-U', '-m', '--preserve-credentials', '-t', String(holder.pid)];
      const command = [process.execPath, path.join(ROOT, program), ...args];
      return finishInTime(
        spawn('nsenter', [...target, ...command], {
          cwd: folder,
          env: {
            PATH: process.env.PATH ?? '',
            SNAPSHOTS_DIR: path.join(folder, 'snapshots'),
            ...environment,
          },
          stdio: ['ignore', 'pipe', 'pipe'],
        }),
      );
    },
    unmount: () => end(holder, 'SIGKILL'),
  };
}

export function freeKilobytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return (bavail * bsize) / 1024;
}
