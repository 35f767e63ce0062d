/**
 * Reads a generation back and holds it to its manifest and its own index: nothing is published, and
 * nothing rolled back to, that this did not find whole.
 */
import { createHash } from 'node:crypto';
import { closeSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import path from 'node:path';
import fastGlob from 'fast-glob';
import { hashBytes } from '../format/content-hash.ts';
import {
  COVER_INDEX,
  coversPack,
  GAME_INDEX,
  gamesPack,
  MANIFEST,
  PLATFORM_INDEX,
  PLATFORMS,
  SEARCH_INDEX,
} from '../format/layout.ts';
import {
  LARGEST_MANIFEST,
  type Manifest,
  type ManifestFile,
  parseManifest,
} from '../format/manifest.ts';
import { EMPTY_PACK, PACK_HEAD, PACK_TAIL, RECORD_SEPARATOR } from '../format/pack.ts';
import {
  findCover,
  findGame,
  gameSlug,
  openRecordIndex,
  type RecordColumns,
  type RecordIndex,
} from '../format/record-index.ts';
import { openSearchIndex } from '../format/search-index.ts';
import { MINISEARCH_OPTIONS_HASH } from '../format/words.ts';

const CHUNK_BYTES = 1024 * 1024;

export interface VerifyOptions {
  /**
   * Whether each record is hashed again too. Whoever just wrote the generation hashed the very
   * bytes that it wrote; the file's own SHA-256 then says that they arrived.
   */
  readonly hashRecords: boolean;
}

/**
 * @param dir the generation's folder
 * @returns its manifest
 * @throws Error saying what is wrong, with the file's name
 */
export async function verifyGeneration(
  dir: string,
  { hashRecords }: VerifyOptions = { hashRecords: true },
): Promise<Manifest> {
  const manifest = readManifest(dir);
  await checkFileList(dir, manifest);
  const files = new Map(manifest.files.map((file) => [file.path, file]));
  const read = (name: string) => readChecked(dir, files.get(name) as ManifestFile);
  const index = openRecordIndex(read(PLATFORM_INDEX), read(GAME_INDEX), read(COVER_INDEX));
  checkCounts(manifest, index);
  checkPlatforms(read(PLATFORMS), index);
  checkSearch(read(SEARCH_INDEX), manifest);
  const packs = new Set<string>();
  for (const { slug, first_game, games, first_cover, covers } of index.platforms) {
    for (const [name, columns, first, count] of [
      [gamesPack(slug), index.games, first_game, games],
      [coversPack(slug), index.covers, first_cover, covers],
    ] as const) {
      packs.add(name);
      const file = files.get(name);
      if (file === undefined) throw new Error(`${MANIFEST} does not hold ${name}.`);
      checkPack(dir, file, columns, first, count, hashRecords);
    }
  }
  checkLookups(dir, index);
  for (const file of manifest.files) {
    const isPack = /^(?:games|covers)\//.test(file.path);
    if (isPack && !packs.has(file.path)) throw new Error(`${file.path} belongs to no platform.`);
    if (!isPack) hashFile(dir, file);
  }
  return manifest;
}

/** @throws Error when it is missing, damaged or of another version */
export function readManifest(dir: string): Manifest {
  const file = path.join(dir, MANIFEST);
  let size: number;
  try {
    ({ size } = statSync(file));
  } catch (cause) {
    throw new Error(`${file} cannot be read: ${(cause as Error).message}`, { cause });
  }
  if (size > LARGEST_MANIFEST) throw new Error(`${file} is larger than ${LARGEST_MANIFEST} bytes.`);
  return parseManifest(readFileSync(file, 'utf8'));
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
  const { games } = openSearchIndex(file);
  if (games !== counts.games) {
    throw new Error(`${SEARCH_INDEX} has ${games} games, ${MANIFEST} says ${counts.games}.`);
  }
  if (minisearch_options !== MINISEARCH_OPTIONS_HASH) {
    throw new Error('The search index was made with other rules for words than this program has.');
  }
}

/** Walks a pack record by record, as the index says they stand, and hashes it on the way. */
function checkPack(
  dir: string,
  file: ManifestFile,
  columns: RecordColumns,
  first: number,
  count: number,
  hashRecords: boolean,
): void {
  const bytes = readChecked(dir, file);
  let isFramed = true;
  let end = 0;
  for (let number = first; number < first + count; number++) {
    const offset = columns.offset[number] as number;
    const length = columns.length[number] as number;
    const separator = number === first ? PACK_HEAD : RECORD_SEPARATOR;
    isFramed &&= offset - end === separator.length && holds(bytes, separator, end);
    end = offset + length;
    let isRight = bytes[offset] === 0x7b && bytes[end - 1] === 0x7d;
    if (hashRecords) {
      const [high, low] = hashBytes(bytes.subarray(offset, end));
      isRight &&= high === columns.hash[number * 2] && low === columns.hash[number * 2 + 1];
    }
    if (!isRight) throw new Error(`${file.path} does not hold record ${number} at byte ${offset}.`);
  }
  const tail = count === 0 ? EMPTY_PACK : PACK_TAIL;
  isFramed &&= bytes.length - end === tail.length && holds(bytes, tail, end);
  if (!isFramed) throw new Error(`${file.path} is not a list of the records that the index names.`);
}

function holds(bytes: Buffer, text: string, at: number): boolean {
  for (let i = 0; i < text.length; i++) if (bytes[at + i] !== text.charCodeAt(i)) return false;
  return true;
}

/** Every path and every id must lead back to its record. */
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
  const { idHigh, idLow, coverOfId } = index.covers;
  for (let place = 0; place < coverOfId.length; place++) {
    const id = (BigInt(idHigh[place] as number) << 32n) | BigInt(idLow[place] as number);
    if (findCover(index, String(id)) !== coverOfId[place]) {
      throw new Error(`The cover ${id} is not found by its id in ${dir}.`);
    }
  }
}

function readChecked(dir: string, file: ManifestFile): Buffer {
  const bytes = Buffer.allocUnsafeSlow(file.size);
  hashFile(dir, file, bytes);
  return bytes;
}

/** Whether a file still has the size and SHA-256 that a manifest says. */
export function isIntact(dir: string, file: ManifestFile): boolean {
  try {
    hashFile(dir, file);
    return true;
  } catch {
    return false;
  }
}

const chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);

/** Reads a file to its end and holds it to its size and SHA-256. */
function hashFile(dir: string, file: ManifestFile, into?: Buffer): void {
  const descriptor = openSync(path.join(dir, file.path), 'r');
  try {
    const sha256 = createHash('sha256');
    let at = 0;
    for (;;) {
      const read = readSync(descriptor, chunk, 0, CHUNK_BYTES, at);
      if (read === 0) break;
      if (at + read > file.size) {
        at += read;
        break;
      }
      sha256.update(chunk.subarray(0, read));
      into?.set(chunk.subarray(0, read), at);
      at += read;
    }
    if (at !== file.size) {
      throw new Error(`${file.path} has ${at} bytes or more, ${MANIFEST} says ${file.size}.`);
    }
    if (sha256.digest('hex') !== file.sha256) {
      throw new Error(`${file.path} has another SHA-256 than ${MANIFEST} says.`);
    }
  } finally {
    closeSync(descriptor);
  }
}
