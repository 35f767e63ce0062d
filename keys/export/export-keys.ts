/**
 * Exports the keys from the table `api_keys` to `keys.json`, which the proxy reads. If the content has
 * not changed, only the modification time is updated: it tells when the file last agreed with the
 * database. Invariant: if most keys are gone from the table, nothing is exported, here or to replicas.
 */
import { statSync, utimesSync } from 'node:fs';
import path from 'node:path';
import type { Database, Row } from '../../lib/database/database.ts';
import {
  encodeKeys,
  isKeyEntry,
  LARGEST_KEYS_FILE,
  LARGEST_LIMIT,
  parseKeys,
} from '../../lib/format/keys-file.ts';
import { KEYS_FILE } from '../../lib/format/layout.ts';
import { hasModes, makeSnapshotsFolder, modesIn } from '../../lib/generations/files/file-modes.ts';
import { keepReserve, replaceWithReserve } from '../../lib/generations/files/reserve.ts';
import { tryToRead } from '../../lib/program/files/bounded-file.ts';
import { endsOfOldKeys } from '../tables/values.ts';

/** Of fewer known keys than these, any may have been deleted. */
const FEWEST_KNOWN = 4;

/** Most of the known keys are not in the database. Nothing was exported. */
export class KeysLostError extends Error {
  override readonly name = 'KeysLostError';
  /** How many known keys have no row. */
  readonly lost: number;

  constructor(lost: number, known: number, file: string) {
    super(
      `${lost} of the ${known} keys in ${file} are not in the table api_keys, so it may have been lost: nothing is exported, and the keys stay as they were. Restore the table: see operations/runbooks/restore.md. If it is right, run "cover-catalogue keys export --force".`,
    );
    this.lost = lost;
  }
}

/**
 * Writes the file, if the database has keys.
 * @throws KeysLostError if most of the known keys are gone, unless `isForced`
 */
export async function exportKeys(
  database: Database,
  snapshotsDir: string,
  isForced = false,
): Promise<void> {
  // The operator may not have created the table yet.
  if (!(await database.columns()).has('api_keys')) return;
  const content = await readKeys(database, snapshotsDir, isForced);
  if (content !== undefined) writeKeys(content, snapshotsDir);
}

/**
 * Reads what `keys.json` is to contain.
 * @returns undefined if there is neither a table of keys nor a key in the file
 * @throws KeysLostError if most of the keys in the file are gone, unless `isForced`
 */
export async function readKeys(
  database: Database,
  snapshotsDir: string,
  isForced = false,
): Promise<string | undefined> {
  const file = path.join(snapshotsDir, KEYS_FILE);
  const before = readIfThere(file);
  const tables = await database.columns();
  const hasTable = tables.has('api_keys');
  // A request that was never revealed is not a key yet. In a table that was created again, it may have the
  // id of a lost key.
  const rows = hasTable
    ? await database.rows(
        `SELECT id, key_hash, state, limit_per_minute FROM api_keys
         WHERE key_hash IS NOT NULL OR revealed_at IS NOT NULL`,
      )
    : [];
  // An installation gets the table with the first use of the account pages after an upgrade.
  if (hasTable && tables.has('old_keys')) {
    const old = `SELECT k.id, o.key_hash, k.state, k.limit_per_minute, o.ends_at FROM old_keys o
       JOIN api_keys k ON k.id = o.key_id WHERE o.ends_at > ? AND o.ends_at <= ? ORDER BY k.id`;
    rows.push(...(await database.rows(old, endsOfOldKeys(new Date()))));
  }
  const content = encodeRows(rows);
  // Usually, the file has just these keys already, and is not parsed.
  if (isForced || (hasTable && content === before)) return content;
  const known = idsIn(before);
  if (!hasTable && known.size === 0) return undefined;
  const found = new Set(rows.map(([id]) => id));
  const lost = [...known].filter((id) => !found.has(id)).length;
  if (areLost(lost, known.size, hasTable)) throw new KeysLostError(lost, known.size, file);
  return content;
}

/**
 * Whether the table of keys was lost, or created again. Keys are usually revoked and not deleted, so of four or
 * more, most are there. A key is its id: it keeps it when it is rotated.
 */
function areLost(lost: number, known: number, hasTable: boolean): boolean {
  return !hasTable || (known >= FEWEST_KNOWN && known - lost < known / 2);
}

/** @param rows `id`, `key_hash`, `state` and `limit_per_minute` of each key, and `ends_at` of an old key */
export function encodeRows(rows: readonly Row[]): string {
  // A broken row is skipped, so that the other keys are exported.
  const entries = rows
    .map(([id, hash, state, perMinute, endsAt]): unknown => {
      const limit = Math.min(LARGEST_LIMIT, Math.max(1, Number(perMinute)));
      const ends_at = endsAt == null ? undefined : `${String(endsAt).replace(' ', 'T')}Z`;
      return { id, hash, state, limit, ends_at };
    })
    .filter(isKeyEntry);
  return encodeKeys(entries);
}

/** @returns whether the content of the file changed, or its mode */
export function writeKeys(content: string, snapshotsDir: string): boolean {
  const file = path.join(snapshotsDir, KEYS_FILE);
  if (readIfThere(file) === content && hasRightMode(file)) {
    const now = new Date();
    utimesSync(file, now, now);
    keepReserve(snapshotsDir);
    return false;
  }
  makeSnapshotsFolder(snapshotsDir);
  replaceWithReserve(file, content);
  return true;
}

/** @returns none if there is no content, or it is damaged */
function idsIn(content = ''): Set<number> {
  try {
    return new Set(parseKeys(content).map(({ id }) => id));
  } catch {
    return new Set();
  }
}

// The required mode depends on the mode of the folder, which an operator can change at any time.
function hasRightMode(file: string): boolean {
  const modes = modesIn(path.dirname(file));
  return hasModes(statSync(file), modes.file, modes);
}

/** @returns the content; undefined if the file does not exist or cannot be read, so that it is replaced */
function readIfThere(file: string): string | undefined {
  return tryToRead(file, LARGEST_KEYS_FILE, String);
}
