/**
 * Polls the indexes on `updated_at`: they show most changes within a second, among them each cover that is hidden. An
 * operator may add or drop an index at any time, so they are looked for again.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Database, Row, Value } from '../../lib/database/database.ts';
import { TIMED_TABLES, type TimedTable, UPDATED_AT } from '../../lib/database/schema.ts';
import { findById, idColumns } from '../../lib/format/index/ids.ts';
import { openIndexFile } from '../../lib/format/index/index-file.ts';
import { COVER_INDEX } from '../../lib/format/layout.ts';
import { currentId, generationDir, readManifest } from '../../lib/generations/generations.ts';
import { APPROVED } from '../read/read-catalogue.ts';
import {
  findReadUpTo,
  readNow,
  readRecentRows,
  recentRowsQuery,
  sinceOf,
} from '../reuse/recent-rows.ts';
import { readId } from '../rows/ids.ts';

/** An index that is added or dropped is noticed after this long. */
const INDEX_CHECK_MS = 300_000;

/** What the last poll of a table has read. */
interface Seen {
  readonly since: Value;
  /** By id. */
  readonly rows: ReadonlyMap<string, Row>;
}
type AllSeen = ReadonlyMap<TimedTable, Seen>;

/** What has changed: nothing, or something, which may hide what is public. */
export type RecentChange = 'nothing' | 'takedown' | 'other';

export class RecentPolls {
  private readonly snapshotsDir: string;
  /** Undefined if a table has no index that is used. */
  private seen: AllSeen | undefined;
  private checkedAt = Number.NEGATIVE_INFINITY;

  constructor(snapshotsDir: string) {
    this.snapshotsDir = snapshotsDir;
  }

  /** Whether all tables have indexes that are used. */
  hasIndexes(): boolean {
    return this.seen !== undefined;
  }

  /** Forgets everything, because the database was closed. */
  reset(): void {
    this.seen = undefined;
    this.checkedAt = Number.NEGATIVE_INFINITY;
  }

  /**
   * Finds out, now and then, whether the tables have indexes that are used.
   * @param now of a monotonic clock, in milliseconds
   * @returns the columns without one, such as "games.updated_at"; undefined if it is not time yet
   */
  async checkIndexes(database: Database, now: number): Promise<readonly string[] | undefined> {
    if (now < this.checkedAt + INDEX_CHECK_MS) return undefined;
    const readUpTo = await findReadUpTo(database, await readNow(database));
    const without: string[] = [];
    for (const table of TIMED_TABLES)
      if (!(await database.usesIndex(recentRowsQuery(table), [readUpTo[table].since])))
        without.push(`${table}.${UPDATED_AT}`);
    if (without.length > 0) this.seen = undefined;
    else {
      const from = TIMED_TABLES.map((table) => [table, readUpTo[table]] as const);
      this.seen ??= await readSeen(database, from);
    }
    this.checkedAt = now;
    return without;
  }

  /** @returns what has changed since the last poll */
  async poll(database: Database): Promise<RecentChange> {
    const { seen } = this;
    if (seen === undefined) return 'nothing';
    const found = await readSeen(database, seen);
    this.seen &&= found;
    let result: RecentChange = 'nothing';
    const hidden: Value[] = [];
    for (const [table, { rows }] of found)
      for (const [key, row] of rows) {
        const before = seen.get(table)?.rows.get(key);
        if (JSON.stringify(before) === JSON.stringify(row)) continue;
        result = 'other';
        const [id = null, , , status] = row;
        if (table !== 'covers' || status === APPROVED) continue;
        // It may be in the run that is under way.
        if (before?.[3] === APPROVED) return 'takedown';
        hidden.push(id);
      }
    return hidden.length > 0 && this.isAnyPublic(hidden) ? 'takedown' : result;
  }

  /** Whether one of these covers is in the current generation, or may be. */
  private isAnyPublic(ids: readonly Value[]): boolean {
    const current = currentId(this.snapshotsDir);
    if (current === undefined) return false;
    try {
      const dir = generationDir(this.snapshotsDir, current);
      const { column } = openIndexFile((name) => readFileSync(path.join(dir, name)), COVER_INDEX);
      const covers = idColumns(column, readManifest(dir).counts.covers);
      return ids.some((value) => {
        const id = readId(value);
        return id !== undefined && findById(covers, id) !== undefined;
      });
    } catch {
      return true;
    }
  }
}

/** @param from after which value of `updated_at` each table is read */
async function readSeen(
  database: Database,
  from: Iterable<readonly [TimedTable, Pick<Seen, 'since'>]>,
): Promise<AllSeen> {
  const now = await readNow(database);
  const seen = new Map<TimedTable, Seen>();
  for (const [table, { since }] of from) {
    const rows = await readRecentRows(database, table, since);
    const [, latest] = rows[0] ?? [];
    seen.set(table, {
      since: latest === undefined ? since : sinceOf(latest, now),
      rows: new Map(rows.map((row) => [String(row[0]), row])),
    });
  }
  return seen;
}
