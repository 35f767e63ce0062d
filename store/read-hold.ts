/** Reads `hold.json` for the generator's programs and the proxy alike. */
import { lstatSync } from 'node:fs';
import path from 'node:path';
import { type Hold, LARGEST_HOLD_FILE, parseHold } from '../format/hold-file.ts';
import { HOLD_FILE } from '../format/layout.ts';
import { readBoundedFileSync } from '../program/files/bounded-file.ts';

/**
 * @returns undefined when publishing is not held
 * @throws Error when the hold cannot be read; publishing is held in this case, too
 */
export function readHoldFile(snapshotsDir: string): Hold | undefined {
  const file = path.join(snapshotsDir, HOLD_FILE);
  if (!isThere(file)) return undefined;
  let bytes: Buffer;
  try {
    bytes = readBoundedFileSync(file, LARGEST_HOLD_FILE);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    // Removed since, or a link.
    if (!isThere(file)) return undefined;
    throw new Error(`${HOLD_FILE} is a symbolic link to nothing.`, { cause: error });
  }
  return parseHold(bytes.toString('utf8'));
}

/** Whether there is a file of any kind, even a symbolic link to nothing. */
function isThere(file: string): boolean {
  try {
    lstatSync(file);
    return true;
  } catch {
    // Absent; or in a folder that cannot be entered, which takes no generation either.
    return false;
  }
}
