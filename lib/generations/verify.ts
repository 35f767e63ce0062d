/**
 * Reads a generation back, and checks it against its manifest, and its values against one another. Only a generation
 * that passes these checks is published, here or as it has arrived from elsewhere.
 *
 * Invariant: whoever reads a published generation may rely on its values, and only compares sizes and hashes.
 */
import fastGlob from 'fast-glob';
import { columnOf, numbersOf, reverse } from '../columns/columns.ts';
import { hashBytes } from '../format/content-hash.ts';
import { idAt, textOfId } from '../format/index/ids.ts';
import { type FindFiles, openFindFiles } from '../format/index/index-file.ts';
import type { RecordColumns, RecordIndex } from '../format/index/record-index.ts';
import {
  checkTitleColumns,
  openTitles,
  type TitleColumns,
  titleLists,
} from '../format/index/titles.ts';
import {
  coversPack,
  gamesPack,
  isPack,
  isTitleList,
  MANIFEST,
  PATH_INDEX,
  TITLE_INDEX,
  titleList,
} from '../format/layout.ts';
import type { Manifest, ManifestFile } from '../format/manifest.ts';
import { EMPTY_PACK, PACK_HEAD, PACK_TAIL, RECORD_SEPARATOR } from '../format/pack.ts';
import { checkFile, type isIntact, readChecked } from './files/checked-files.ts';
import { filesIn, openIndex, readManifest } from './generations.ts';
import { readHistory } from './history.ts';

/**
 * Checks the values of the files by which games are found, which this folder cannot read.
 * @throws Error that names the file and its fault
 */
export type CheckFind = (files: Partial<FindFiles>, index: RecordIndex) => void;

/** How the files of a generation are checked. Each function throws an Error that names the file. */
export interface FileChecks {
  /** Checks a pack. */
  pack(dir: string, pack: Pack): void;
  /** Checks the bytes of any other file. */
  file(dir: string, file: ManifestFile): void;
  /** Reads and checks a file that is needed in memory. */
  read(dir: string, file: ManifestFile): Buffer;
  /** Checks the values by which games are found; undefined if no value beside the record index is checked. */
  readonly values: CheckFind | undefined;
  /**
   * Whether a file is that of a generation with the same games, whose values were checked: they are not checked again.
   * By default, no file is.
   */
  hasKnownValues?(dir: string, file: ManifestFile): boolean;
}

/** Checks everything, also the content hash of every record. */
export function everything(values: CheckFind): FileChecks {
  return {
    pack: (dir, pack) => checkPack(dir, pack, true),
    file: checkFile,
    read: readChecked,
    values,
  };
}

/**
 * Checks that files have the bytes that the manifest names, but not the records in packs.
 * @param isKnown whether a file is known to be intact: it is not hashed again
 * @param values undefined if all values have just been checked
 */
export function withoutRecords(isKnown: typeof isIntact, values?: CheckFind): FileChecks {
  const file: FileChecks['file'] = (dir, each) => {
    if (!isKnown(dir, each)) checkFile(dir, each);
  };
  return { pack: (dir, pack) => file(dir, pack.file), file, read: readChecked, values };
}

/**
 * @param dir the generation's folder
 * @returns the manifest of the generation, and its index
 * @throws Error that names the file and its fault
 */
export async function verifyAndOpen(
  dir: string,
  checks: FileChecks,
): Promise<{ manifest: Manifest; index: RecordIndex }> {
  const manifest = readManifest(dir);
  await checkFileList(dir, manifest);
  const fileOf = filesIn(manifest);
  const readFiles = new Set<string>();
  const read = (_: string, file: ManifestFile) => {
    readFiles.add(file.path);
    return checks.read(dir, file);
  };
  const contentOf = (name: string) => read(dir, fileOf(name));
  const isKnown = (name: string) => checks.hasKnownValues?.(dir, fileOf(name)) ?? false;
  const index = openIndex(manifest, contentOf, isKnown(PATH_INDEX));
  checkCounts(manifest, index);
  const packs = index.platforms.flatMap(
    ({ slug, firstGame, games, firstCover, covers }): Pack[] => [
      { file: fileOf(gamesPack(slug)), columns: index.games, first: firstGame, count: games },
      { file: fileOf(coversPack(slug)), columns: index.covers, first: firstCover, count: covers },
    ],
  );
  if (checks.values !== undefined) {
    if (!isKnown(TITLE_INDEX)) {
      const titles = openTitles(contentOf);
      checkTitleColumns(titles, manifest.counts.games);
      checkTitleLists(manifest, index, titles, contentOf);
    }
    checks.values(
      openFindFiles(contentOf, (name) => !isKnown(name)),
      index,
    );
    readHistory(dir, index, manifest, read);
  }
  const ofPlatforms = new Set(packs.map(({ file }) => file.path));
  for (const file of manifest.files) {
    if (ofPlatforms.has(file.path)) continue;
    if (isPack(file.path)) throw new Error(`${file.path} does not belong to a platform.`);
    // What was read was checked.
    if (!readFiles.has(file.path)) checks.file(dir, file);
  }
  for (const pack of packs) checks.pack(dir, pack);
  return { manifest, index };
}

async function checkFileList(dir: string, manifest: Manifest): Promise<void> {
  const onDisk = new Set(await fastGlob('**', { cwd: dir, dot: true, followSymbolicLinks: false }));
  onDisk.delete(MANIFEST);
  for (const { path: name } of manifest.files) {
    if (!onDisk.delete(name)) throw new Error(`${name} is missing.`);
  }
  const [extra] = onDisk;
  if (extra !== undefined) throw new Error(`${extra} is on disk, but not in ${MANIFEST}.`);
}

function checkCounts({ counts }: Manifest, { platforms, games, covers }: RecordIndex): void {
  for (const [name, found, expected] of [
    ['platforms', platforms.length, counts.platforms],
    ['games', games.byteLength.length, counts.games],
    ['covers', covers.byteLength.length, counts.covers],
  ] as const) {
    if (found !== expected)
      throw new Error(`The index has ${found} ${name}, but ${MANIFEST} says ${expected}.`);
  }
}

/** Checks that the lists of alternative titles are those of the index, and that no other is there. */
function checkTitleLists(
  { files }: Manifest,
  { platforms, games }: RecordIndex,
  titles: TitleColumns,
  read: (name: string) => Buffer,
): void {
  const ids = games.numberOfId.length;
  const positionOf = numbersOf(reverse(columnOf(games.numberOfId), ids));
  const firstGame = [...platforms.map((each) => each.firstGame), ids];
  const expected = new Set<string>();
  const idOf = (game: number) => textOfId(idAt(games, positionOf[game]));
  for (const [platform, content] of titleLists(titles, firstGame, idOf)) {
    const name = titleList(platforms[platform].slug);
    expected.add(name);
    if (read(name).toString() !== content())
      throw new Error(`${name} does not have the titles of ${TITLE_INDEX}.`);
  }
  for (const { path: name } of files) {
    if (isTitleList(name) && !expected.has(name))
      throw new Error(`${name} has no titles in ${TITLE_INDEX}.`);
  }
}

const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;

/** A pack and the records that it must contain. */
interface Pack {
  readonly file: ManifestFile;
  readonly columns: RecordColumns;
  /** The number of the first record, an index into the columns. */
  readonly first: number;
  /** How many consecutive records the pack contains. */
  readonly count: number;
}

/**
 * Checks that each record of a pack is at its offset, with its length, and that nothing else is there.
 * @param hashRecords whether to check the content hash of each record too; the SHA-256 of the file is
 * always checked
 */
export function checkPack(
  dir: string,
  { file, columns, first, count }: Pack,
  hashRecords: boolean,
): void {
  const bytes = readChecked(dir, file);
  const { byteOffset, byteLength, hash } = columns;
  const hasText = (text: string, from: number, to: number) =>
    to - from === text.length && bytes.toString('latin1', from, to) === text;
  // Where the record before ends.
  let end = 0;
  for (let number = first; number < first + count; number++) {
    const [start, next] = [byteOffset[number], byteOffset[number] + byteLength[number]];
    const [high, low] = hashRecords ? hashBytes(bytes.subarray(start, next)) : [];
    const isRight =
      hasText(number === first ? PACK_HEAD : RECORD_SEPARATOR, end, start) &&
      bytes[start] === OPENING_BRACE &&
      bytes[next - 1] === CLOSING_BRACE &&
      (!hashRecords || (high === hash[number * 2] && low === hash[number * 2 + 1]));
    if (!isRight) throw new Error(`${file.path} does not have record ${number} at byte ${start}.`);
    end = next;
  }
  if (hasText(count === 0 ? EMPTY_PACK : PACK_TAIL, end, bytes.length)) return;
  throw new Error(`${file.path} is not a list of exactly the records in the index.`);
}
