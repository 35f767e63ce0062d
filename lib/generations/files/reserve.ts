/**
 * A reserve of disk space beside `keys.json`. It is given up when the disk is full, so that a key that is
 * revoked stops working even then, and it is kept again as soon as there is space.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, rmSync, statfsSync, statSync } from 'node:fs';
import path from 'node:path';
import { KEYS_FILE, RESERVE_FILE } from '../../format/layout.ts';
import { FullDiskError } from '../../program/failure.ts';
import { writeNewFile } from './file-modes.ts';
import { replaceFile } from './replace-file.ts';

/** What the keys file may grow by before the reserve grows, too. */
const MARGIN_BYTES = 64 * 1024;

/** As {@link replaceFile}, and on a full disk in the space of the reserve. */
export function replaceWithReserve(file: string, content: string): void {
  const reserve = path.join(path.dirname(file), RESERVE_FILE);
  try {
    replaceFile(file, content);
  } catch (error) {
    if (!(error instanceof FullDiskError) || !existsSync(reserve)) throw error;
    rmSync(reserve);
    replaceFile(file, content);
  }
  keepReserve(path.dirname(file));
}

/** Makes the reserve, unless it is there and large enough. Without space, there is none until the next call. */
export function keepReserve(snapshotsDir: string): void {
  const reserve = path.join(snapshotsDir, RESERVE_FILE);
  const sizeOf = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  try {
    const needed = sizeOf(path.join(snapshotsDir, KEYS_FILE)) + 1;
    if (sizeOf(reserve) >= needed) return;
    rmSync(reserve, { force: true });
    const { bavail, bsize } = statfsSync(snapshotsDir);
    if (bavail * bsize < needed + MARGIN_BYTES) return;
    // Random, because a file system may store a compressible file in no space.
    writeNewFile(reserve, randomBytes(needed + MARGIN_BYTES), { isSynced: false });
  } catch {
    rmSync(reserve, { force: true });
  }
}
