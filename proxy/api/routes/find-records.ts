/** Finds the records that a path or a batch names. */
import { findById, type IdColumns } from '../../../format/index/ids.ts';
import { findGame } from '../../../format/index/record-index.ts';
import type { Generation } from '../../snapshot/generation.ts';
import type { Batch } from '../parameters/batch.ts';
import type { Paging } from '../parameters/paging.ts';

/** @returns the number of a game, or undefined */
export function findByPath(
  { index }: Generation,
  platformSlug: string,
  slug: string,
): number | undefined {
  const platform = index.platformBySlug.get(platformSlug);
  return platform === undefined ? undefined : findGame(index, platform, slug);
}

export interface Found {
  /** The numbers of the records that exist. */
  readonly numbers: readonly number[];
  /** The other entries of the batch. */
  readonly missing: readonly string[];
}

/** @param ids the ids of all games, or of all covers */
export function findBatch(generation: Generation, ids: IdColumns, batch: Batch): Found {
  const numbers: number[] = [];
  const missing: string[] = [];
  for (const entry of batch.entries) {
    const [platform, slug = ''] = entry.split('/');
    const number =
      batch.name === 'ids' ? findById(ids, entry) : findByPath(generation, platform, slug);
    if (number === undefined) missing.push(entry);
    else numbers.push(number);
  }
  return { numbers, missing };
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
