/**
 * Reads a generation back and holds it to its manifest and its own index: nothing is published, and
 * nothing rolled back to, that this did not find whole.
 */
import path from 'node:path';
import fastGlob from 'fast-glob';
import { hashBytes } from '../../format/content-hash.ts';
import { checkRecordIndex } from '../../format/index/check-record-index.ts';
import { checkSearchIndex } from '../../format/index/check-search-index.ts';
import {
  findGame,
  gameSlug,
  openRecordIndex,
  type RecordIndex,
} from '../../format/index/record-index.ts';
import { openSearchIndex } from '../../format/index/search-index.ts';
import { MINISEARCH_OPTIONS_HASH } from '../../format/index/words.ts';
import {
  COVER_INDEX,
  coversPack,
  GAME_INDEX,
  gamesPack,
  MANIFEST,
  PLATFORM_INDEX,
  PLATFORMS,
  SEARCH_INDEX,
} from '../../format/layout.ts';
import { LARGEST_MANIFEST, type Manifest, parseManifest } from '../../format/manifest.ts';
import { makeSharedQueue } from '../../generator/worker/shared-queue.ts';
import { both, type SecondThread } from '../../generator/worker/worker.ts';
import { readBoundedFileSync } from '../../program/bounded-file.ts';
import { hashFile, readChecked } from '../files/checked-files.ts';
import { checkPack, checkPackFiles, type Pack } from './check-packs.ts';

/**
 * @param dir the generation's folder
 * @returns its manifest
 * @throws Error saying what is wrong, with the file's name
 */
export async function verifyGeneration(dir: string): Promise<Manifest> {
  return verify(dir, async (packs, checkOthers) => {
    checkOthers();
    for (const pack of packs) checkPack(dir, pack, true);
  });
}

/**
 * Verifies a generation that this process just wrote, on two threads. Records are not hashed again:
 * their hashes were taken of the very bytes that the SHA-256 of each file speaks of.
 */
export async function verifyWritten(dir: string, second: SecondThread): Promise<Manifest> {
  return verify(dir, async (packs, checkOthers) => {
    const queue = makeSharedQueue(packs.length);
    const theirs = second.run('checkPackFiles', dir, packs, queue, 'back');
    const ours = (async () => {
      checkOthers();
      checkPackFiles(dir, packs, queue, 'front');
    })();
    await both(theirs, ours);
  });
}

/** @param checkPacks is handed what checks everything else, too */
async function verify(
  dir: string,
  checkPacks: (packs: readonly Pack[], checkOthers: () => void) => Promise<void>,
): Promise<Manifest> {
  const manifest = readManifest(dir);
  await checkFileList(dir, manifest);
  const files = new Map(manifest.files.map((file) => [file.path, file]));
  const fileOf = (name: string) => {
    const file = files.get(name);
    if (file === undefined) throw new Error(`${MANIFEST} does not hold ${name}.`);
    return file;
  };
  const read = (name: string) => readChecked(dir, fileOf(name));
  const index = openRecordIndex(read(PLATFORM_INDEX), read(GAME_INDEX), read(COVER_INDEX));
  checkRecordIndex(index, (name) => files.get(name)?.size);
  const packs = index.platforms.flatMap(
    ({ slug, first_game, games, first_cover, covers }): Pack[] => [
      { file: fileOf(gamesPack(slug)), columns: index.games, first: first_game, count: games },
      { file: fileOf(coversPack(slug)), columns: index.covers, first: first_cover, count: covers },
    ],
  );
  checkCounts(manifest, index);
  const isPack = new Set(packs.map(({ file }) => file.path));
  await checkPacks(packs, () => {
    checkPlatforms(read(PLATFORMS), index);
    checkSearch(read(SEARCH_INDEX), manifest);
    for (const file of manifest.files) {
      if (isPack.has(file.path)) continue;
      if (/^(?:games|covers)\//.test(file.path))
        throw new Error(`${file.path} belongs to no platform.`);
      hashFile(dir, file);
    }
    checkLookups(dir, index);
  });
  return manifest;
}

/** @throws Error when it is missing, damaged or of another version */
export function readManifest(dir: string): Manifest {
  const file = path.join(dir, MANIFEST);
  let text: string;
  try {
    text = readBoundedFileSync(file, LARGEST_MANIFEST).toString('utf8');
  } catch (cause) {
    throw new Error(`${file} cannot be read: ${(cause as Error).message}`, { cause });
  }
  return parseManifest(text);
}

async function checkFileList(dir: string, manifest: Manifest): Promise<void> {
  const onDisk = new Set(await fastGlob('**', { cwd: dir, dot: true, followSymbolicLinks: false }));
  onDisk.delete(MANIFEST);
  for (const { path: name } of manifest.files) {
    if (!onDisk.delete(name)) throw new Error(`${name} is missing.`);
  }
  const [extra] = onDisk;
  if (extra !== undefined) throw new Error(`${extra} is on disk and not in ${MANIFEST}.`);
}

function checkCounts({ counts }: Manifest, { platforms, games, covers }: RecordIndex): void {
  for (const [name, found, said] of [
    ['platforms', platforms.length, counts.platforms],
    ['games', games.offset.length, counts.games],
    ['covers', covers.offset.length, counts.covers],
  ] as const) {
    if (found !== said)
      throw new Error(`The index has ${found} ${name}, ${MANIFEST} says ${said}.`);
  }
}

function checkPlatforms(body: Buffer, { platforms }: RecordIndex): void {
  for (const { slug, offset, length, hash } of platforms) {
    const [high, low] = hashBytes(body.subarray(offset, offset + length));
    if (high !== hash[0] || low !== hash[1]) {
      throw new Error(`${PLATFORMS} does not hold the record of ${slug} at its place.`);
    }
  }
}

function checkSearch(file: Buffer, { counts, minisearch_options }: Manifest): void {
  checkSearchIndex(openSearchIndex(file), counts.games);
  if (minisearch_options !== MINISEARCH_OPTIONS_HASH) {
    throw new Error('The search index was made with other rules for words than this program has.');
  }
}

/** Checks that every path leads back to its record. Ids do, since they ascend. */
function checkLookups(dir: string, index: RecordIndex): void {
  index.platforms.forEach(({ first_game, games, slug }, platform) => {
    for (let game = first_game; game < first_game + games; game++) {
      if (findGame(index, platform, gameSlug(index, game)) !== game) {
        throw new Error(
          `The game ${slug}/${gameSlug(index, game)} is not found by its path in ${dir}.`,
        );
      }
    }
  });
}
