/** A disk of a few megabytes that a test can fill. */
import { type ChildProcess, spawn } from 'node:child_process';
import { rmSync, statfsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { COMPILE_CACHE, commandLine, type Texts } from '#test/support/processes.ts';
import { end, type Finished, finish, makeFolder } from '#test/support/product.ts';

/**
 * Mounts a small file system in memory, in the mount namespace of a separate process, with which it
 * disappears.
 * @returns undefined if mounting is not allowed
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
  const root = `/proc/${holder.pid}/root${folder}`;
  return {
    /** The path of the disk for this process. SQLite cannot use it: its lock files would be elsewhere. */
    root,
    /** The path of the disk for programs that `run` starts. */
    folder,
    /** Runs a program of the product that sees the disk at `folder`, with its snapshots on it. */
    run(program: string, args: readonly string[], environment: Texts = {}): Promise<Finished> {
      const target = ['-U', '-m', '--preserve-credentials', '-t', String(holder.pid)];
      const command = [...commandLine(program), ...args];
      return finish(
        spawn('nsenter', [...target, ...command], {
          cwd: folder,
          env: {
            PATH: process.env.PATH ?? '',
            ...COMPILE_CACHE,
            SNAPSHOTS_DIR: path.join(folder, 'snapshots'),
            ...environment,
          },
          stdio: ['ignore', 'pipe', 'pipe'],
        }),
      );
    },
    /** Fills the disk but for so many kilobytes. @returns what makes the room again */
    fill(left: number): () => void {
      const ballast = path.join(root, 'ballast');
      try {
        const { bavail, bsize } = statfsSync(root);
        writeFileSync(ballast, Buffer.alloc(Math.max(0, bavail * bsize - left * 1024)));
      } catch {
        // The disk is as full as it gets.
      }
      return () => rmSync(ballast);
    },
    unmount: () => end(holder, 'SIGKILL'),
  };
}
