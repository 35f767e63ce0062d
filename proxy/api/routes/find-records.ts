/** Finds the records that a path or a batch names. */
import { findById, type IdColumns } from '../../../format/index/ids.ts';
import { findGame, type PlatformEntry } from '../../../format/index/record-index.ts';
import type { Generation } from '../../snapshot/generation.ts';
import type { Batch } from '../parameters/batch.ts';
import type { Paging } from '../parameters/paging.ts';

/** @returns undefined if there is no platform with the slug */
export function findPlatform({ index }: Generation, slug: string): PlatformEntry | undefined {
  return index.platforms[index.platformBySlug.get(slug) ?? -1];
}

/** @returns the number of a game, or undefined */
export function findByPath(
  { index }: Generation,
  platformSlug: string,
  slug: string,
): number | undefined {
  const platform = index.platformBySlug.get(platformSlug);
  return platform === undefined ? undefined : findGame(index, platform, slug);
}

/** @param entry slugs, such as "snes/chrono-trigger" */
function findByEntry(generation: Generation, entry: string): number | undefined {
  const [platform, slug = ''] = entry.split('/');
  return findByPath(generation, platform, slug);
}

export interface Found {
  /** The numbers of the records that exist, each once. */
  readonly numbers: readonly number[];
  /** The other entries of the batch, each once. */
  readonly missing: readonly string[];
}

/** @param columns the ids of all games, or of all covers */
export function findBatch(
  generation: Generation,
  columns: IdColumns,
  { entries, ids }: Batch,
): Found {
  const numbers = new Set<number>();
  const missing = new Set<string>();
  for (const [position, entry] of entries.entries()) {
    const id = ids?.[position];
    const number = id === undefined ? findByEntry(generation, entry) : findById(columns, id);
    if (number === undefined) missing.add(entry);
    else numbers.add(number);
  }
  return { numbers: [...numbers], missing: [...missing] };
}

/** The range of a page in `total` records from number `first` on: `from` inclusive, `to` exclusive. */
export function rangeOfPage(
  first: number,
  total: number,
  { page, perPage }: Paging,
): [from: number, to: number] {
  const from = first + Math.min((page - 1) * perPage, total);
  return [from, Math.min(from + perPage, first + total)];
}
