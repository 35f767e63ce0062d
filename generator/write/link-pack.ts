/** Links files of the earlier generation in which nothing has changed, instead of writing them again. */
import { linkSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import type { RecordColumns } from '../../format/index/record-index.ts';
import type { ManifestFile } from '../../format/manifest.ts';
import { hasModes, modesIn } from '../../store/files/file-modes.ts';
import type { EarlierRecords } from '../reuse/earlier-records.ts';
import type { CopySource } from './packs.ts';

/**
 * Links the pack with the records from number `from` (inclusive) to `to` (exclusive). In the earlier
 * generation, it had those from `first` (inclusive) to `end` (exclusive).
 * @param columns receive the positions of the records
 * @returns undefined if the pack must be written
 */
export function linkPack(
  { dir: earlierDir, files }: EarlierRecords,
  dir: string,
  name: string,
  [from, to]: readonly [number, number],
  [first, end]: readonly [number, number],
  columns: RecordColumns,
  { earlierNumberOf, records }: CopySource,
): ManifestFile | undefined {
  const count = to - from;
  if (end - first !== count || count === 0) return undefined;
  for (let i = 0; i < count; i++) if (earlierNumberOf(from + i) !== first + i) return undefined;
  const file = linkEarlier(earlierDir, files, dir, name);
  if (file === undefined) return undefined;
  columns.byteOffset.set(records.byteOffset.subarray(first, first + count), from);
  columns.byteLength.set(records.byteLength.subarray(first, first + count), from);
  columns.hash.set(records.hash.subarray(first * 2, (first + count) * 2), from * 2);
  return file;
}

/**
 * As {@link linkEarlier}, for several files.
 * @returns undefined if all of them must be written
 */
export function linkAll(
  earlierDir: string,
  files: readonly ManifestFile[],
  dir: string,
  names: readonly string[],
): ManifestFile[] | undefined {
  const linked = names.flatMap((name) => linkEarlier(earlierDir, files, dir, name) ?? []);
  if (linked.length === names.length) return linked;
  for (const name of names) rmSync(path.join(dir, name), { force: true });
  return undefined;
}

/**
 * Links a file of an earlier generation that this one needs byte by byte.
 * @param files those of the earlier generation
 * @returns undefined if it must be written: the file system or wrong permissions prevent the link
 */
export function linkEarlier(
  earlierDir: string,
  files: readonly ManifestFile[],
  dir: string,
  name: string,
): ManifestFile | undefined {
  const file = files.find((entry) => entry.path === name);
  if (file === undefined) return undefined;
  const target = path.join(dir, name);
  const source = path.join(earlierDir, name);
  try {
    // The link has the permissions of the old file, which may be wrong for this generation.
    const modes = modesIn(path.dirname(target));
    if (!hasModes(statSync(source), modes.file, modes)) return undefined;
    linkSync(source, target);
    return file;
  } catch {
    return undefined;
  }
}
