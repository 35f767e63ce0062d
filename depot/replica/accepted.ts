/** Reads and writes `accepted.json`. Once {@link saveAccepted} returns, a power cut does not lose it. */
import path from 'node:path';
import {
  type Accepted,
  encodeAccepted,
  LARGEST_ACCEPTED_FILE,
  parseAccepted,
} from '../../format/accepted-file.ts';
import { ACCEPTED_FILE } from '../../format/layout.ts';
import { makeSnapshotsFolder } from '../../generations/files/file-modes.ts';
import { replaceFile } from '../../generations/files/replace-file.ts';
import { readBoundedFileSync } from '../../program/files/bounded-file.ts';

/**
 * What was accepted last; nothing before the first time.
 * @throws Error if the file cannot be read: nothing may be accepted then
 */
export function readAccepted(snapshotsDir: string): Accepted {
  const file = path.join(snapshotsDir, ACCEPTED_FILE);
  try {
    return parseAccepted(readBoundedFileSync(file, LARGEST_ACCEPTED_FILE).toString('utf8'));
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT') return { snapshot: null, keys: null };
    throw new Error(
      `${message.replace(/\.?$/, '.')} Nothing new is accepted, because it could be older than what was accepted before. If the store can be trusted, remove ${file}.`,
      { cause },
    );
  }
}

/** Replaces one of the two members. */
export function saveAccepted(snapshotsDir: string, newer: Partial<Accepted>): void {
  const { snapshot, keys } = { ...readAccepted(snapshotsDir), ...newer };
  makeSnapshotsFolder(snapshotsDir);
  replaceFile(path.join(snapshotsDir, ACCEPTED_FILE), encodeAccepted({ snapshot, keys }));
}
