/**
 * Accepts that rows of keys are lost with the table `api_keys`. The export has marked these keys in `keys.json`
 * and keeps them valid. Each gets a row again, as a revoked key: so it stops working everywhere, no other key
 * gets its id, and the history says why.
 */
import path from 'node:path';
import type { Database, Value } from '../../lib/database/database.ts';
import { type KeyEntry, LARGEST_KEYS_FILE, parseKeys } from '../../lib/format/keys-file.ts';
import { KEYS_FILE } from '../../lib/format/layout.ts';
import { readBoundedFileSync } from '../../lib/program/files/bounded-file.ts';
import { toDatabaseTime } from '../tables/values.ts';
import { recordEvent } from './history.ts';
import { Refusal } from './refusal.ts';

const REASON = 'The row of this key was lost, and an operator accepted the loss.';

/**
 * Revokes the lost keys of a snapshots folder.
 * @param only the id of the one key to revoke; undefined for all
 * @returns the ids of the keys
 * @throws Refusal if no such key is lost; Error if `keys.json` cannot be read
 */
export async function acceptLoss(
  database: Database,
  snapshotsDir: string,
  only: number | undefined,
  at: Date,
): Promise<number[]> {
  const file = path.join(snapshotsDir, KEYS_FILE);
  const known = readKnown(file);
  const now = toDatabaseTime(at);
  return database.transaction(async (writer) => {
    const accepted: number[] = [];
    const [[newest] = []] = await writer.rows('SELECT MAX(id) FROM api_keys');
    let lastId = Math.max(Number(newest ?? 0), known.at(-1)?.id ?? 0);
    for (const { id, hash, limit, lost } of known) {
      if (!lost || (only !== undefined && id !== only)) continue;
      const has = async (column: 'id' | 'key_hash', value: Value) => {
        const sql = `SELECT 1 FROM api_keys WHERE ${column} = ?`;
        return (await writer.rows(sql, [value])).length > 0;
      };
      // Restored since the file was written.
      if (await has('key_hash', hash)) continue;
      // A new request may have its id. No other lost key may lose its own.
      const keyId = (await has('id', id)) ? ++lastId : id;
      await writer.run(
        `INSERT INTO api_keys (id, purpose, website_url, state, reason, limit_per_minute,
           key_hash, requested_at, revealed_at, revoked_at)
         VALUES (?, '', '', 'revoked', ?, ?, ?, ?, ?, ?)`,
        [keyId, REASON, limit, hash, now, now, now],
      );
      await recordEvent(writer, { keyId, at, actorId: null, action: 'revoked', reason: REASON });
      accepted.push(id);
    }
    if (accepted.length > 0) return accepted;
    throw new Refusal(
      `${file} has no ${only === undefined ? 'lost keys' : `lost key ${only}`}: nothing was changed.`,
      'conflict',
    );
  });
}

function readKnown(file: string): KeyEntry[] {
  try {
    return parseKeys(readBoundedFileSync(file, LARGEST_KEYS_FILE).toString('utf8'));
  } catch (cause) {
    throw new Error(
      `The keys cannot be read: ${(cause as Error).message}. SNAPSHOTS_DIR must be the folder of "cover-catalogue schedule".`,
      { cause },
    );
  }
}
