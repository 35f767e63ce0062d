/**
 * Hands the keys over: from the table `api_keys` to `keys.json`, the one thing that the proxy reads
 * of them. A file that still holds only gets a new time, which says that it was looked at.
 */
import { statSync, utimesSync } from 'node:fs';
import path from 'node:path';
import type { Database } from '../../database/database.ts';
import {
  encodeKeys,
  isKeyEntry,
  type KeyEntry,
  type KeyState,
  LARGEST_KEYS_FILE,
  LARGEST_LIMIT,
} from '../../format/keys-file.ts';
import { KEYS_FILE } from '../../format/layout.ts';
import { readBoundedFileSync } from '../../program/files/bounded-file.ts';
import { hasModes, makeSnapshotsFolder, modesIn } from '../../store/files/file-modes.ts';
import { replaceFile } from '../../store/files/replace-file.ts';

// A key that was never revealed has no hash yet: nobody can send it.
const SQL = `SELECT id, key_hash, state, limit_per_minute FROM api_keys
  WHERE key_hash IS NOT NULL AND state IN ('approved', 'rejected', 'revoked') ORDER BY id`;

/** @returns whether the content changed */
export async function exportKeys(database: Database, snapshotsDir: string): Promise<boolean> {
  return writeKeys(await readKeys(database), snapshotsDir);
}

/** The keys in the database, as they stand in the file. */
export async function readKeys(database: Database): Promise<string> {
  const rows = await database.rows(SQL);
  const keys = rows
    .map(
      ([id, hash, state, limit]): KeyEntry => ({
        id: Number(id),
        hash: String(hash),
        state: state as KeyState,
        limit: Math.min(LARGEST_LIMIT, Math.max(1, Number(limit))),
      }),
    )
    // A row that cannot be a key must not keep the others from the proxy.
    .filter(isKeyEntry);
  return encodeKeys(keys);
}

/**
 * @param content from {@link readKeys}
 * @returns whether it changed
 */
export function writeKeys(content: string, snapshotsDir: string): boolean {
  const file = path.join(snapshotsDir, KEYS_FILE);
  if (readIfThere(file) === content && hasRightMode(file)) {
    const now = new Date();
    utimesSync(file, now, now);
    return false;
  }
  makeSnapshotsFolder(snapshotsDir);
  replaceFile(file, content);
  return true;
}

/** Whether the database has the table of keys at all; a site may not have made it yet. */
export async function hasKeys(database: Database): Promise<boolean> {
  return (await database.columns()).has('api_keys');
}

// When an operator shares the folder, or no longer does, the file has to change with it.
function hasRightMode(file: string): boolean {
  const modes = modesIn(path.dirname(file));
  return hasModes(statSync(file), modes.file, modes);
}

/** @returns undefined also for a file that cannot be read: it is then replaced */
function readIfThere(file: string): string | undefined {
  try {
    return readBoundedFileSync(file, LARGEST_KEYS_FILE).toString('utf8');
  } catch {
    return undefined;
  }
}
