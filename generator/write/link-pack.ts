/** Links packs of the earlier generation in which no record has changed, instead of writing them again. */
import { linkSync, statSync } from 'node:fs';
import path from 'node:path';
import type { RecordColumns } from '../../format/index/record-index.ts';
import type { ManifestFile } from '../../format/manifest.ts';
import { hasModes, modesIn } from '../../store/files/file-modes.ts';
import type { EarlierRecords } from '../reuse/earlier-records.ts';
import type { CopySource } from './packs.ts';

/**
 * Links the pack with the records from number `from` (inclusive) to `to` (exclusive).
 * @param first the number of the first record of this pack in the earlier generation
 * @param count how many records the pack had
 * @param columns receive the positions of the records
 * @returns undefined if the pack must be written
 */
export function linkPack(
  { dir: earlierDir, files }: EarlierRecords,
  dir: string,
  name: string,
  [from, to]: readonly [number, number],
  [first, count]: readonly [number, number],
  columns: RecordColumns,
  { numberOf, records }: CopySource,
): ManifestFile | undefined {
  if (count !== to - from || count === 0) return undefined;
  for (let i = 0; i < count; i++) if (numberOf(from + i) !== first + i) return undefined;
  const file = files.find(({ path }) => path === name);
  if (file === undefined || !linkFile(earlierDir, dir, name)) return undefined;
  columns.byteOffset.set(records.byteOffset.subarray(first, first + count), from);
  columns.byteLength.set(records.byteLength.subarray(first, first + count), from);
  columns.hash.set(records.hash.subarray(first * 2, (first + count) * 2), from * 2);
  return file;
}

/** @returns false if the file system or wrong permissions prevent it */
export function linkFile(earlierDir: string, dir: string, name: string): boolean {
  const target = path.join(dir, name);
  const source = path.join(earlierDir, name);
  try {
    // The link has the permissions of the old file, which may be wrong for this generation.
    const modes = modesIn(path.dirname(target));
    if (!hasModes(statSync(source), modes.file, modes)) return false;
    linkSync(source, target);
    return true;
  } catch {
    return false;
  }
}
