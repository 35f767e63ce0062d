/**
 * Reads a generation back, and checks it against its manifest and its index. Only a generation that
 * passes these checks is published.
 */
import fastGlob from 'fast-glob';
import { hashBytes } from '../format/content-hash.ts';
import { checkFilters, checkWords } from '../format/index/check-search-index.ts';
import { MINISEARCH_OPTIONS_HASH } from '../format/index/minisearch-hash.ts';
import { findGame, gameSlug, type RecordIndex } from '../format/index/record-index.ts';
import { openSearchIndex } from '../format/index/search-index.ts';
import { coversPack, gamesPack, isPack, MANIFEST, PLATFORMS } from '../format/layout.ts';
import type { Manifest, ManifestFile } from '../format/manifest.ts';
import { checkPack, type Pack } from './check-packs.ts';
import { checkFile, readChecked } from './files/checked-files.ts';
import type { FileChecks } from './files/known-files.ts';
import { readManifest } from './manifest-file.ts';
import { openIndex } from './open-index.ts';

/**
 * Checks all packs. The checker decides when to call `checkOthers`, for example while workers check
 * packs.
 * @param checkOthers checks everything else; must be called once. Given a check of bytes, it checks the
 * bytes of all other files with that, and not the values in the indexes.
 */
export type PackChecker = (
  dir: string,
  packs: readonly Pack[],
  checkOthers: (checkBytes?: FileCheck) => void,
) => Promise<void>;

/** @throws Error if the file is not the one in the manifest */
type FileCheck = (dir: string, file: ManifestFile) => void;

export const checkOneByOne: PackChecker = async (dir, packs, checkOthers) => {
  checkOthers();
  for (const pack of packs) checkPack(dir, pack, true);
};

/**
 * Checks only that files have the bytes that the manifest names, not the records in packs, nor whether
 * the indexes find them: for a generation whose publisher has checked them. Files that this process
 * knows are not hashed again. With 150,000 games and few changes, this takes 0.1 s instead of 1.5 s.
 */
export function makeBytesChecker(known: FileChecks): PackChecker {
  return async (dir, packs, checkOthers) => {
    const check: FileCheck = (folder, file) => {
      if (!known.isIntact(folder, file)) checkFile(folder, file);
    };
    checkOthers(check);
    for (const { file } of packs) check(dir, file);
  };
}

/**
 * @param dir the generation's folder
 * @param checkPacks by default checks one pack after another, with the content hash of every record
 * @returns the manifest of the generation
 * @throws Error that names the file and its fault
 */
export async function verifyGeneration(
  dir: string,
  checkPacks: PackChecker = checkOneByOne,
): Promise<Manifest> {
  return (await verifyAndOpen(dir, checkPacks)).manifest;
}

/**
 * As {@link verifyGeneration}, and also returns the index, which the checks need in memory.
 * @param readFile reads a file that is needed in memory. By default into memory that threads share, since
 * they may check packs.
 */
export async function verifyAndOpen(
  dir: string,
  checkPacks: PackChecker,
  readFile: FileChecks['read'] = (folder, file) => readChecked(folder, file, SharedArrayBuffer),
): Promise<{ manifest: Manifest; index: RecordIndex }> {
  const manifest = readManifest(dir);
  await checkFileList(dir, manifest);
  const files = new Map(manifest.files.map((file) => [file.path, file]));
  const fileOf = (name: string) => {
    const file = files.get(name);
    if (file === undefined) throw new Error(`${MANIFEST} does not name ${name}.`);
    return file;
  };
  const read = (name: string) => readFile(dir, fileOf(name));
  const index = openIndex(manifest, read);
  const packs = index.platforms.flatMap(
    ({ slug, first_game, games, first_cover, covers }): Pack[] => [
      { file: fileOf(gamesPack(slug)), columns: index.games, first: first_game, count: games },
      { file: fileOf(coversPack(slug)), columns: index.covers, first: first_cover, count: covers },
    ],
  );
  checkCounts(manifest, index);
  const ofPlatforms = new Set(packs.map(({ file }) => file.path));
  checkWordRules(manifest);
  await checkPacks(dir, packs, (checkBytes) => {
    checkPlatforms(read(PLATFORMS), index);
    for (const file of manifest.files) {
      if (ofPlatforms.has(file.path)) continue;
      if (isPack(file.path)) throw new Error(`${file.path} does not belong to a platform.`);
      (checkBytes ?? checkFile)(dir, file);
    }
    if (checkBytes !== undefined) return;
    const search = openSearchIndex(read);
    checkFilters(search, manifest.counts.games);
    checkWords(search);
    checkLookups(dir, index);
  });
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

function checkPlatforms(body: Buffer, { platforms }: RecordIndex): void {
  for (const { slug, offset, length, hash } of platforms) {
    const [high, low] = hashBytes(body.subarray(offset, offset + length));
    if (high !== hash[0] || low !== hash[1]) {
      throw new Error(`${PLATFORMS} does not have the record of ${slug} at its offset.`);
    }
  }
}

function checkWordRules({ minisearch_options }: Manifest): void {
  if (minisearch_options !== MINISEARCH_OPTIONS_HASH) {
    throw new Error(
      'The search index was written with other rules for splitting words than those of this program.',
    );
  }
}

/**
 * Checks that each game is found by its path. Covers need no such check: their ids ascend, so a search
 * by id always finds them.
 */
function checkLookups(dir: string, index: RecordIndex): void {
  index.platforms.forEach(({ first_game, games, slug }, platform) => {
    for (let game = first_game; game < first_game + games; game++) {
      if (findGame(index, platform, gameSlug(index, game)) !== game) {
        throw new Error(
          `The index in ${dir} does not find the game ${slug}/${gameSlug(index, game)} by its path.`,
        );
      }
    }
  });
}
