/**
 * Exports the keys from the table `api_keys` to `keys.json`, which the proxy reads. If the content has
 * not changed, only the modification time is updated: it tells when the file last agreed with the
 * database.
 */
import { statSync, utimesSync } from 'node:fs';
import path from 'node:path';
import type { Database } from '../../lib/database/database.ts';
import {
  encodeKeys,
  isKeyEntry,
  type KeyEntry,
  LARGEST_KEYS_FILE,
  LARGEST_LIMIT,
  parseKeys,
} from '../../lib/format/keys-file.ts';
import { KEYS_FILE } from '../../lib/format/layout.ts';
import { hasModes, makeSnapshotsFolder, modesIn } from '../../lib/generations/files/file-modes.ts';
import { replaceFile } from '../../lib/generations/files/replace-file.ts';
import { readBoundedFileSync } from '../../lib/program/files/bounded-file.ts';

/** The known keys are not in the database. `keys.json` stays as it is. */
export class KeysLostError extends Error {
  override readonly name = 'KeysLostError';
}

/** Writes the file, if the database has keys. @throws KeysLostError */
export async function exportKeys(database: Database, snapshotsDir: string): Promise<void> {
  if (await hasKeys(database)) writeKeys(await readKeys(database), snapshotsDir);
}

/** The content of the file for the keys that are in the database. */
export async function readKeys(database: Database): Promise<string> {
  // A key without a hash was never shown to its owner, so no client can send it.
  const rows = await database.rows(
    `SELECT id, key_hash, state, limit_per_minute FROM api_keys
     WHERE key_hash IS NOT NULL ORDER BY id`,
  );
  // A broken row is skipped, so that the other keys are exported.
  const entries = rows.map(([id, hash, state, perMinute]): unknown => {
    const limit = Math.min(LARGEST_LIMIT, Math.max(1, Number(perMinute)));
    return { id: Number(id), hash, state, limit };
  });
  return encodeKeys(entries.filter(isKeyEntry));
}

/** @returns whether the content of the file changed, or its mode @throws KeysLostError */
export function writeKeys(content: string, snapshotsDir: string): boolean {
  const file = path.join(snapshotsDir, KEYS_FILE);
  const before = readIfThere(file);
  if (before === content && hasRightMode(file)) {
    const now = new Date();
    utimesSync(file, now, now);
    return false;
  }
  if (before !== content) refuseLoss(content, snapshotsDir);
  makeSnapshotsFolder(snapshotsDir);
  replaceFile(file, content);
  return true;
}

/**
 * Keys are revoked, never deleted. So if the database has none of the known keys, its table was lost or
 * created again, and no client must lose its key because of that. A single key may have been rotated.
 * @param content of the file for the keys in the database; undefined if it has no table of them
 * @throws KeysLostError
 */
export function refuseLoss(content: string | undefined, snapshotsDir: string): void {
  const file = path.join(snapshotsDir, KEYS_FILE);
  const known = keysIn(readIfThere(file));
  const found = new Set(keysIn(content).map(({ hash }) => hash));
  if (known.length === 0 || known.some(({ hash }) => found.has(hash))) return;
  if (known.length === 1 && found.size > 0) return;
  throw new KeysLostError(
    `the table api_keys of the database has none of the ${known.length} keys in ${file}, which keep working. If the table was lost, restore it: see "Backup and restore" in OPERATIONS.md. If these keys are to stop working, remove ${file}.`,
  );
}

/** @returns no keys if there is no content, or it is damaged */
function keysIn(content = ''): KeyEntry[] {
  try {
    return parseKeys(content);
  } catch {
    return [];
  }
}

/** Whether the database has the table `api_keys`; the operator may not have created it yet. */
export async function hasKeys(database: Database): Promise<boolean> {
  return (await database.columns()).has('api_keys');
}

// The required mode depends on the mode of the folder, which an operator can change at any time.
function hasRightMode(file: string): boolean {
  const modes = modesIn(path.dirname(file));
  return hasModes(statSync(file), modes.file, modes);
}

/** @returns the content; undefined if the file does not exist or cannot be read, so that it is replaced */
function readIfThere(file: string): string | undefined {
  try {
    return readBoundedFileSync(file, LARGEST_KEYS_FILE).toString('utf8');
  } catch {
    return undefined;
  }
}
