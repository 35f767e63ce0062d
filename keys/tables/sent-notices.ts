/**
 * Which notices were sent, as rows of `sent_notices`. The name of a notice says what it is about, and on
 * which day. If several programs want to send it at once, the one that adds the row sends it.
 */
import type { Database, Reader, Writer } from '../../database/database.ts';
import { addSeconds, toDatabaseTime } from './database-time.ts';

const DAY_SECONDS = 24 * 3600;
/** How long rows are kept: longer than until any notice is repeated. */
const KEPT_DAYS = 8;
const INSERT = { sqlite: 'INSERT OR IGNORE', mysql: 'INSERT IGNORE' };

/**
 * Claims a notice. Call it in the transaction that queues its mails.
 * @returns whether this program sends it
 */
export async function claimNotice(
  writer: Writer,
  { kind }: Pick<Database, 'kind'>,
  name: string,
  at: Date,
): Promise<boolean> {
  const sql = `${INSERT[kind]} INTO sent_notices (name, sent_at) VALUES (?, ?)`;
  return (await writer.run(sql, [name, toDatabaseTime(at)])).changes === 1;
}

/** Whether a notice whose name begins with a text was sent in the last 24 hours. */
export async function wasSentToday(reader: Reader, start: string, at: Date): Promise<boolean> {
  const rows = await reader.rows(
    'SELECT name FROM sent_notices WHERE name LIKE ? AND sent_at > ? LIMIT 1',
    [`${start}%`, toDatabaseTime(addSeconds(at, -DAY_SECONDS))],
  );
  return rows.length > 0;
}

export async function removeOldNotices(database: Database, at: Date): Promise<void> {
  const oldest = toDatabaseTime(addSeconds(at, -KEPT_DAYS * DAY_SECONDS));
  await database.run('DELETE FROM sent_notices WHERE sent_at < ?', [oldest]);
}
