/**
 * Exports the keys from the table `api_keys` to `keys.json`, which the proxy reads. When the content
 * is unchanged, only the modification time of the file is set: it tells when the file was last right.
 */
import { statSync, utimesSync } from 'node:fs';
import path from 'node:path';
import type { Database } from '../../database/database.ts';
import {
  encodeKeys,
  isKeyEntry,
  LARGEST_KEYS_FILE,
  LARGEST_LIMIT,
} from '../../format/keys-file.ts';
import { KEYS_FILE } from '../../format/layout.ts';
import { readBoundedFileSync } from '../../program/files/bounded-file.ts';
import { hasModes, makeSnapshotsFolder, modesIn } from '../../store/files/file-modes.ts';
import { replaceFile } from '../../store/files/replace-file.ts';

// A key that was never revealed has no hash, and no client can send it.
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
    .map(([id, hash, state, limit]): unknown => ({
      id: Number(id),
      hash,
      state,
      limit: Math.min(LARGEST_LIMIT, Math.max(1, Number(limit))),
    }))
    // One broken row must not keep the others from the proxy.
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

/** Whether the database has the table of keys; a site may not have made it yet. */
export async function hasKeys(database: Database): Promise<boolean> {
  return (await database.columns()).has('api_keys');
}

// When an operator changes who may read the folder, the mode of the file must follow.
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
