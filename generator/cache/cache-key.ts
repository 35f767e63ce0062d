/** Names what a row cache belongs to. */
import type { Database } from '../../database/database.ts';
import type { HiddenViews } from '../../database/hidden-views.ts';
import type { TimedTable } from '../../database/schema.ts';
import type { Settings } from '../../format/manifest.ts';
import { programVersion } from './program-version.ts';

/** What must be the same for the cache to be used. */
export interface CacheKey {
  /** The generation that the rows were written to. */
  readonly generation: string;
  /** Of the database; see `Database.identity`. */
  readonly database: string;
  readonly settings: Settings;
  /** The versions of the program and of what it runs on. */
  readonly program: string;
}

/** Why a cache cannot be used if a part of its key is not the same. The first difference is given. */
export const WHY_UNUSABLE: Readonly<Record<keyof CacheKey, string>> = {
  program: 'the row cache was written by another version of the program or of Node',
  database: 'the row cache is of another database, or a table or view was altered',
  settings: 'the row cache was written with another SITE_URL, SITE_LANGUAGE or FILES_URL',
  generation: 'the row cache is of a generation that is not current',
};

export type KeyOf = (generation: string) => CacheKey;

/** @returns a function that returns the key of the cache that fits a generation */
export async function makeCacheKey(database: Database, settings: Settings): Promise<KeyOf> {
  const identity = await database.identity();
  const program = programVersion();
  return (generation) => ({ generation, database: identity, settings, program });
}

/** Why a database cannot show which rows have changed, so that nothing is cached; undefined if it can. */
export function whyUntimed(
  withoutUpdatedAt: readonly TimedTable[],
  hiddenViews: HiddenViews | undefined,
): string | undefined {
  if (withoutUpdatedAt.length === 0) return hiddenViews?.fault;
  const columns = withoutUpdatedAt.map((table) => `${table}.updated_at`);
  return `the database does not have ${columns.join(', ')}`;
}
