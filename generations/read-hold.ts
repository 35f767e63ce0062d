/** Reads `hold.json`, for the generator's programs and for the proxy. */
import { lstatSync } from 'node:fs';
import path from 'node:path';
import { type Hold, LARGEST_HOLD_FILE, parseHold } from '../format/hold-file.ts';
import { HOLD_FILE } from '../format/layout.ts';
import { readBoundedFileSync } from '../program/files/bounded-file.ts';

/**
 * @returns undefined if publishing is not held
 * @throws Error if the file cannot be read; publishing is then held too
 */
export function readHoldFile(snapshotsDir: string): Hold | undefined {
  const file = path.join(snapshotsDir, HOLD_FILE);
  if (!isThere(file)) return undefined;
  let bytes: Buffer;
  try {
    bytes = readBoundedFileSync(file, LARGEST_HOLD_FILE);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    // The file was removed in the meantime, or it is a dangling symbolic link.
    if (!isThere(file)) return undefined;
    throw new Error(`${HOLD_FILE} is a dangling symbolic link.`, { cause: error });
  }
  return parseHold(bytes.toString('utf8'));
}

/** Whether the path exists, as a file of any kind, even as a dangling symbolic link. */
function isThere(file: string): boolean {
  try {
    lstatSync(file);
    return true;
  } catch {
    // The file does not exist, or its folder may not be entered; then nothing can be published either.
    return false;
  }
}
