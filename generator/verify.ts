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
import { both, type SecondThread } from './second-thread.ts';

const CHUNK_BYTES = 1024 * 1024;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;

/**
 * @param dir the generation's folder
 * @returns its manifest
 * @throws Error saying what is wrong, with the file's name
 */
export async function verifyGeneration(dir: string): Promise<Manifest> {
  return verify(dir, async (packs) => checkPacks(dir, packs, true));
}

/**
 * Verifies a generation that this process just wrote, on two threads. Records are not hashed again:
 * their hashes were taken of the very bytes that the SHA-256 of each file speaks of.
 */
export async function verifyWritten(dir: string, second: SecondThread): Promise<Manifest> {
  return verify(dir, async (packs) => {
    const [ours, theirs] = halves(packs);
    const checked = second.run('checkPacks', dir, theirs, false);
    await both(checked, (async () => checkPacks(dir, ours, false))());
  });
}

async function verify(
  dir: string,
  checkAllPacks: (packs: readonly Pack[]) => Promise<void>,
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
  const packs = index.platforms.flatMap(
    ({ slug, first_game, games, first_cover, covers }): Pack[] => [
      { file: fileOf(gamesPack(slug)), columns: index.games, first: first_game, count: games },
      { file: fileOf(coversPack(slug)), columns: index.covers, first: first_cover, count: covers },
    ],
  );
  checkCounts(manifest, index);
  checkPlatforms(read(PLATFORMS), index);
  checkSearch(read(SEARCH_INDEX), manifest);
  const isPack = new Set(packs.map(({ file }) => file.path));
  for (const file of manifest.files) {
    if (isPack.has(file.path)) continue;
    if (/^(?:games|covers)\//.test(file.path))
      throw new Error(`${file.path} belongs to no platform.`);
    hashFile(dir, file);
  }
  await checkAllPacks(packs);
  checkLookups(dir, index);
  return manifest;
}

/** A pack and which records, by number, it must hold. */
export interface Pack {
  readonly file: ManifestFile;
  readonly columns: RecordColumns;
  readonly first: number;
  readonly count: number;
}

/** Two lists of about as many bytes. */
function halves(packs: readonly Pack[]): [Pack[], Pack[]] {
  const lists: [Pack[], Pack[]] = [[], []];
  const bytes = [0, 0] as [number, number];
  for (const pack of packs) {
    const least = bytes[0] <= bytes[1] ? 0 : 1;
    bytes[least] += pack.file.size;
    lists[least].push(pack);
  }
  return lists;
}

/** @param hashRecords whether each record is hashed too, and not only the file */
export function checkPacks(dir: string, packs: readonly Pack[], hashRecords: boolean): void {
  for (const pack of packs) checkPack(dir, pack, hashRecords);
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

/** Walks a pack record by record, as the index says they stand. */
function checkPack(dir: string, { file, columns, first, count }: Pack, hashRecords: boolean): void {
  let number = first;
  // Where the record before ends.
  let end = 0;
  // What is wrong with the file as a whole is said first.
  let fault: string | undefined;

  function isRight(bytes: Buffer, from: number, offset: number, next: number): boolean {
    const separator = number === first ? PACK_HEAD : RECORD_SEPARATOR;
    if (offset - end !== separator.length || !holds(bytes, separator, end - from)) return false;
    const record = bytes.subarray(offset - from, next - from);
    if (record[0] !== OPENING_BRACE || record.at(-1) !== CLOSING_BRACE) return false;
    if (!hashRecords) return true;
    const [high, low] = hashBytes(record);
    return high === columns.hash[number * 2] && low === columns.hash[number * 2 + 1];
  }

  const rest = hashFile(dir, file, (bytes, from) => {
    for (; number < first + count && fault === undefined; number++) {
      const offset = columns.offset[number] as number;
      const next = offset + (columns.length[number] as number);
      if (next - from > bytes.length) break;
      if (!isRight(bytes, from, offset, next)) {
        fault = `${file.path} does not hold record ${number} at byte ${offset}.`;
      }
      end = next;
    }
    return fault === undefined ? end : from + bytes.length;
  });
  if (fault !== undefined) throw new Error(fault);
  const tail = count === 0 ? EMPTY_PACK : PACK_TAIL;
  if (number < first + count || rest.length !== tail.length || !holds(rest, tail, 0)) {
    throw new Error(`${file.path} is not a list of the records that the index names.`);
  }
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
  // Shared, so that another thread may look at the columns too.
  const bytes = Buffer.from(new SharedArrayBuffer(file.size));
  hashFile(dir, file, (read, from) => {
    bytes.set(read, from);
    return from + read.length;
  });
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

// One for all files; it grows to the longest record.
let window = Buffer.allocUnsafeSlow(CHUNK_BYTES);

/**
 * Reads a file to its end and holds it to its size and SHA-256.
 * @param onBytes is handed the bytes from a place of the file on and says up to which it is done
 * with them; the others come again with those that follow
 * @returns what was left in the end
 */
function hashFile(
  dir: string,
  file: ManifestFile,
  onBytes: (bytes: Buffer, from: number) => number = (bytes, from) => from + bytes.length,
): Buffer {
  const descriptor = openSync(path.join(dir, file.path), 'r');
  try {
    const sha256 = createHash('sha256');
    let from = 0;
    let at = 0;
    for (;;) {
      if (at - from === window.length) {
        const larger = Buffer.allocUnsafeSlow(window.length * 2);
        window.copy(larger);
        window = larger;
      }
      const kept = at - from;
      const read = readSync(descriptor, window, kept, window.length - kept, at);
      if (read === 0) break;
      at += read;
      if (at > file.size) break;
      sha256.update(window.subarray(kept, kept + read));
      const done = onBytes(window.subarray(0, kept + read), from);
      window.copyWithin(0, done - from, kept + read);
      from = done;
    }
    if (at !== file.size) {
      throw new Error(`${file.path} has ${at} bytes or more, ${MANIFEST} says ${file.size}.`);
    }
    if (sha256.digest('hex') !== file.sha256) {
      throw new Error(`${file.path} has another SHA-256 than ${MANIFEST} says.`);
    }
    return window.subarray(0, at - from);
  } finally {
    closeSync(descriptor);
  }
}
