/**
 * Exports the keys from the table `api_keys` to `keys.json`, which the proxy reads. If the content has
 * not changed, only the modification time is updated: it tells when the file last agreed with the
 * database. {@link decideKeys} alone decides what is exported, here and to replicas.
 */
import { statSync, utimesSync } from 'node:fs';
import path from 'node:path';
import type { Database, Row } from '../../lib/database/database.ts';
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
import { keepReserve, replaceWithReserve } from '../../lib/generations/files/reserve.ts';
import { tryToRead } from '../../lib/program/files/bounded-file.ts';
import { endsOfOldKeys } from '../tables/values.ts';

/** Rows of keys are gone from the database. These keys keep working, all others were exported. */
export class KeysLostError extends Error {
  override readonly name = 'KeysLostError';
}

/** What is exported. */
export interface KeysDecision {
  /** The content of `keys.json`. */
  readonly content: string;
  /** How many of its keys have lost their rows. */
  readonly lost: number;
}

/**
 * Writes the file, if the database has keys.
 * @throws KeysLostError after that, if rows of keys are gone
 */
export async function exportKeys(database: Database, snapshotsDir: string): Promise<void> {
  // The operator may not have created the table yet.
  if (!(await database.columns()).has('api_keys')) return;
  const decision = await readDecision(database, snapshotsDir);
  if (decision === undefined) return;
  writeKeys(decision.content, snapshotsDir);
  reportLoss(decision, snapshotsDir);
}

/**
 * Decides by the rows of the database and the keys in `keys.json`.
 * @returns undefined if there is neither a table of keys nor a key in the file
 */
export async function readDecision(
  database: Database,
  snapshotsDir: string,
): Promise<KeysDecision | undefined> {
  const before = readIfThere(path.join(snapshotsDir, KEYS_FILE));
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
  // Usually, the file has just these keys already, and is not parsed.
  const unchanged = decideKeys(rows, []);
  if (hasTable && unchanged.content === before) return unchanged;
  const known = keysIn(before);
  return hasTable || known.length > 0 ? decideKeys(rows, known) : undefined;
}

/**
 * A key is its id: it keeps it when it is rotated. So a key whose id is in the table always takes what the
 * row says, whatever its hash: nothing may block a revocation. A single key without a row was deleted, and
 * stops working. But keys are usually revoked and not deleted: if fewer than half of the known ids are in the
 * table, it was lost or created again, and keys without a row are kept. They are marked, and stay, until
 * their rows are restored or the loss is accepted, even if new keys fill the table.
 *
 * A table that was created again gives the ids of lost keys to new ones. Such a key cannot be told from a
 * rotated one: the lost key stops working.
 * @param rows `id`, `key_hash`, `state` and `limit_per_minute` of each key in the table, and `ends_at` of an old key
 */
export function decideKeys(rows: readonly Row[], known: readonly KeyEntry[]): KeysDecision {
  // A broken row is skipped, so that the other keys are exported.
  const entries = rows
    .map(([id, hash, state, perMinute, endsAt]): unknown => {
      const limit = Math.min(LARGEST_LIMIT, Math.max(1, Number(perMinute)));
      const ends_at = endsAt == null ? undefined : `${String(endsAt).replace(' ', 'T')}Z`;
      return { id, hash, state, limit, ends_at };
    })
    .filter(isKeyEntry);
  const ids = new Set(rows.map(([id]) => id));
  const hashes = new Set(entries.map(({ hash }) => hash));
  const settled = known.filter(({ lost }) => !lost);
  const isLost = settled.filter(({ id }) => ids.has(id)).length < settled.length / 2;
  const kept = known
    .filter(({ id, hash, lost }) => (lost || isLost) && !ids.has(id) && !hashes.has(hash))
    .map((key): KeyEntry => ({ ...key, lost: true }));
  return { content: encodeKeys([...entries, ...kept]), lost: kept.length };
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

/** @throws KeysLostError if keys have lost their rows */
export function reportLoss({ lost }: KeysDecision, snapshotsDir: string): void {
  if (lost === 0) return;
  throw new KeysLostError(
    `The table api_keys of the database lacks ${lost} of the keys in ${path.join(snapshotsDir, KEYS_FILE)}, which keep working. If the table was lost, restore it: see operations/runbooks/restore.md. If these keys are to stop working, run "cover-catalogue keys accept-loss".`,
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

// The required mode depends on the mode of the folder, which an operator can change at any time.
function hasRightMode(file: string): boolean {
  const modes = modesIn(path.dirname(file));
  return hasModes(statSync(file), modes.file, modes);
}

/** @returns the content; undefined if the file does not exist or cannot be read, so that it is replaced */
function readIfThere(file: string): string | undefined {
  return tryToRead(file, LARGEST_KEYS_FILE, String);
}
