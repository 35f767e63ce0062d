/**
 * Which tables a backup contains. Every table of the schema is part of it unless it is listed here with
 * the reason, so a new table is never forgotten.
 */
import { columnNames, type Table, type Tables } from '../../database/tables.ts';
import { ACCOUNTS_TABLE, KEYS_TABLES } from '../tables/schema.ts';

/** Tables that are worthless or harmful in a backup. */
export const NOT_BACKED_UP: Readonly<Record<string, string>> = {
  mail_outbox: 'e-mails that were sent since the backup would be sent again',
  sent_notices: 'notices of the last days may be sent again',
  sign_in_links: 'links work for 15 minutes',
  sessions: 'sessions that were ended since the backup would work again',
};

/** The numbers in these tables grow in daily use. */
const MAY_DIFFER = new Set(['request_turns', 'key_usage']);

export interface BackedUpTable {
  readonly name: string;
  readonly columns: readonly string[];
  /** The columns that identify a row; rows are sorted by them. */
  readonly key: readonly string[];
  /** Whether an existing row may differ from the one in the backup: it only has to exist. */
  readonly mayDiffer: boolean;
}

/** In the order in which they are written and read: accounts come first, then what belongs to them. */
export const BACKED_UP: readonly BackedUpTable[] = Object.entries<Table>({
  ...ACCOUNTS_TABLE,
  ...KEYS_TABLES,
} satisfies Tables)
  .filter(([name]) => !(name in NOT_BACKED_UP))
  .map(([name, table]) => ({
    name,
    columns: columnNames(table),
    key: keyOf(name, table),
    mayDiffer: MAY_DIFFER.has(name),
  }));

function keyOf(name: string, { columns, unique = [] }: Table): string[] {
  const primary = Object.entries(columns).find(([, sql]) => sql.includes('PRIMARY KEY'))?.[0];
  const key = primary ?? unique[0];
  if (key === undefined) throw new Error(`Nothing identifies a row of the table ${name}.`);
  return key.split(', ');
}
