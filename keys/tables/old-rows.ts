/**
 * Removes old rows. A row is old only if it is so by the clock and compared with the newest row of its table:
 * while a clock is ahead, nothing that is needed later is removed.
 */
import type { Writer } from '../../lib/database/database.ts';
import { addSeconds, fromDatabaseTime, toDatabaseTime } from './values.ts';

/**
 * Removes the rows of a table that are older than some time.
 * @param column the time of a row
 * @param condition of SQL, that a row must meet as well
 */
export async function removeOldRows(
  writer: Writer,
  table: string,
  column: string,
  { seconds, now, condition = '1 = 1' }: { seconds: number; now: Date; condition?: string },
): Promise<void> {
  const [[newest] = []] = await writer.rows(`SELECT MAX(${column}) FROM ${table}`);
  if (newest == null) return;
  const present = Math.min(now.getTime(), fromDatabaseTime(String(newest)).getTime());
  const oldest = toDatabaseTime(addSeconds(new Date(present), -seconds));
  await writer.run(`DELETE FROM ${table} WHERE ${column} < ? AND ${condition}`, [oldest]);
}
