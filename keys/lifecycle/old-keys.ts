/**
 * The keys that rotations have replaced and that still work, at most one for each key: it shares id, limit and
 * usage with the new one. `keys/export` leaves it out once its time has come, or its key is revoked.
 */
import type { Writer } from '../../lib/database/database.ts';
import { addSeconds, toDatabaseTime } from '../tables/values.ts';

/** How long an old key may work beside the new one. */
export const OVERLAP_HOURS = 24;

/** Call it in the transaction of a rotation, before the key is replaced. @param at when it is rotated */
export async function keepOldKey(writer: Writer, id: number, at: Date): Promise<void> {
  await endOldKey(writer, id);
  await writer.run(
    `INSERT INTO old_keys (key_id, key_hash, key_prefix, ends_at)
     SELECT id, key_hash, key_prefix, ? FROM api_keys WHERE id = ? AND key_hash IS NOT NULL`,
    [toDatabaseTime(addSeconds(at, OVERLAP_HOURS * 3600)), id],
  );
}

export async function endOldKey(writer: Writer, id: number): Promise<void> {
  await writer.run('DELETE FROM old_keys WHERE key_id = ?', [id]);
}
