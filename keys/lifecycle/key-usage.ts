/** Reads what keys have used, as the sums of all runs of all proxies. */
import type { Database, Reader } from '../../lib/database/database.ts';
import { dayOf, type Usage } from '../../lib/format/key-usage-file.ts';
import { getOrAdd } from '../../lib/program/get-or-add.ts';
import { type AccountId, marks } from '../tables/values.ts';

const SUMS = 'SUM(u.requests), SUM(u.refused)';

/** What a key has used on one day, "YYYY-MM-DD" in UTC. */
export interface DayOfUse extends Usage {
  readonly day: string;
}

/** What a key has used on several days together. */
export interface KeyUse extends Usage {
  readonly key_id: number;
  readonly account_id: AccountId | null;
  readonly purpose: string;
}

/** Today and the days before. */
interface Period {
  readonly days: number;
  readonly now: Date;
}

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
     WHERE u.key_id IN (${marks(keyIds)}) AND u.day BETWEEN ? AND ?
     GROUP BY u.key_id, u.day ORDER BY u.key_id, u.day`,
    [...keyIds, ...boundsOf(period)],
  );
  for (const [key, day, requests, refused] of rows) {
    const days = getOrAdd(usage, key as number, () => []);
    days.push({ day: String(day), requests: Number(requests), refused: Number(refused) });
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
  return rows.map(([id, account, purpose, requests, refused]) => ({
    key_id: id as number,
    account_id: account as AccountId | null,
    purpose: String(purpose),
    requests: Number(requests),
    refused: Number(refused),
  }));
}

/** The sums of several days. */
export function totalOf(days: readonly Usage[]): Usage {
  const sumOf = (count: keyof Usage) => days.reduce((sum, each) => sum + each[count], 0);
  return { requests: sumOf('requests'), refused: sumOf('refused') };
}

/** The first and the last day of a period. */
export function boundsOf({ days, now }: Period): [first: string, last: string] {
  return [dayOf(now.getTime(), 1 - days), dayOf(now.getTime())];
}
