/** Reads what keys have used, as the sums of all runs of all proxies. */
import type { Database, Reader, Value } from '../../database/database.ts';
import { dayOf } from '../../format/key-usage.ts';

/** What was used within some time. The columns are those of `key_usage`. */
export interface Use {
  readonly requests: number;
  readonly not_modified: number;
  readonly refused: number;
  readonly bytes: number;
}

/** What a key has used on one day, "YYYY-MM-DD" in UTC. */
export interface DayOfUse extends Use {
  readonly day: string;
}

/** What a key has used on several days together. */
export interface KeyUse extends Use {
  readonly key_id: number;
  readonly account_id: number | null;
  readonly purpose: string;
}

/** Today and the days before. */
export interface Period {
  readonly days: number;
  readonly now: Date;
}

const SUMS = ['requests', 'not_modified', 'refused', 'bytes']
  .map((column) => `SUM(u.${column})`)
  .join(', ');

/** For the id of each key that was used, the days on which it was used, oldest first. */
export async function usageOf(
  reader: Reader,
  keyIds: readonly number[],
  period: Period,
): Promise<Map<number, DayOfUse[]>> {
  const usage = new Map<number, DayOfUse[]>();
  if (keyIds.length === 0) return usage;
  const rows = await reader.rows(
    `SELECT u.key_id, u.day, ${SUMS} FROM key_usage u
     WHERE u.key_id IN (${keyIds.map(() => '?').join(', ')}) AND u.day BETWEEN ? AND ?
     GROUP BY u.key_id, u.day ORDER BY u.key_id, u.day`,
    [...keyIds, ...boundsOf(period)],
  );
  for (const [key, day, ...sums] of rows) {
    const id = Number(key);
    const days = usage.get(id) ?? [];
    usage.set(id, days);
    days.push({ day: String(day), ...toUse(sums) });
  }
  return usage;
}

/** The keys that were used, those with the most requests first, refused ones included. */
export async function mostUsedKeys(database: Database, period: Period): Promise<KeyUse[]> {
  const rows = await database.rows(
    `SELECT k.id, k.account_id, k.purpose, ${SUMS}
     FROM key_usage u JOIN api_keys k ON k.id = u.key_id
     WHERE u.day BETWEEN ? AND ? GROUP BY k.id, k.account_id, k.purpose
     ORDER BY SUM(u.requests) + SUM(u.refused) DESC, k.id`,
    boundsOf(period),
  );
  return rows.map(([id, account, purpose, ...sums]) => ({
    key_id: Number(id),
    account_id: account as number | null,
    purpose: String(purpose),
    ...toUse(sums),
  }));
}

/** The sums of several days. */
export function totalOf(days: readonly Use[]): Use {
  const sum = (column: keyof Use) => days.reduce((total, each) => total + each[column], 0);
  return {
    requests: sum('requests'),
    not_modified: sum('not_modified'),
    refused: sum('refused'),
    bytes: sum('bytes'),
  };
}

/** The first and the last day of a period. */
export function boundsOf({ days, now }: Period): [first: string, last: string] {
  return [dayOf(now.getTime(), 1 - days), dayOf(now.getTime())];
}

function toUse([requests, notModified, refused, bytes]: readonly Value[]): Use {
  return {
    requests: Number(requests),
    not_modified: Number(notModified),
    refused: Number(refused),
    bytes: Number(bytes),
  };
}
