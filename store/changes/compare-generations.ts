/**
 * Compares two generations for a difference file. Takes their record indexes, which have the content
 * hash of every record, and reads from the packs only the ids of games that differ. Memory grows with
 * the number of games that differ, by some 30 bytes each, and not with their texts.
 */
import { closeSync, readSync } from 'node:fs';
import path from 'node:path';
import { type ContentHash, hashBytes } from '../../format/content-hash.ts';
import { compareNames, encodeChange, type RecordName } from '../../format/difference-file.ts';
import {
  findGame,
  gameSlug,
  type RecordColumns,
  type RecordIndex,
  splitId,
} from '../../format/index/record-index.ts';
import { gamesPack } from '../../format/layout.ts';
import { openRegularFile } from '../../program/files/bounded-file.ts';
import { openIndexOf } from '../generations/open-index.ts';

/** How many bytes of a pack are read at once. Neighbouring games often differ together. */
const WINDOW_BYTES = 64 * 1024;

/** A generation on disk, with its index in memory. */
export interface OpenGeneration {
  readonly dir: string;
  readonly index: RecordIndex;
}

/**
 * Reads what differs between two generations.
 * @param from the folder of the earlier one
 * @returns the lines of the difference, in order; they are made without further reads from disk
 * @throws Error if one of them is damaged or of another version
 */
export function compareGenerations(from: string, to: OpenGeneration): Iterable<string> {
  const before = openIndexOf(from);
  const after = to.index;
  const [sameBefore, sameAfter] = findSameGames(before, after);
  const gone = readGames(from, before, sameBefore);
  const come = readGames(to.dir, after, sameAfter);
  return (function* () {
    yield* comparePlatforms(before, after);
    yield* compareGames(gone, come);
    yield* compareCovers(before, after);
  })();
}

function* comparePlatforms(before: RecordIndex, after: RecordIndex): Generator<string> {
  const slugs = new Set([...before.platformBySlug.keys(), ...after.platformBySlug.keys()]);
  const hashIn = ({ platforms, platformBySlug }: RecordIndex, slug: string) =>
    platforms[platformBySlug.get(slug) ?? -1]?.hash;
  for (const slug of [...slugs].sort()) {
    const name: RecordName = { kind: 'platform', id: slug, path: `/platforms/${slug}` };
    yield* changeOf(name, hashIn(before, slug), hashIn(after, slug));
  }
}

function* changeOf(
  name: RecordName,
  before: ContentHash | undefined,
  after: ContentHash | undefined,
): Generator<string> {
  if (before?.[0] === after?.[0] && before?.[1] === after?.[1]) return;
  yield encodeChange(name, before, after);
}

/** Marks the games, by number, that have the same path and the same content in both generations. */
function findSameGames(before: RecordIndex, after: RecordIndex): [Uint8Array, Uint8Array] {
  const sameBefore = new Uint8Array(before.games.rank.length);
  const sameAfter = new Uint8Array(after.games.rank.length);
  for (const { slug, first_game, games } of after.platforms) {
    const platform = before.platformBySlug.get(slug);
    if (platform === undefined) continue;
    const { first_game: first, games: count } = before.platforms[platform];
    // Most games follow the same game as before, so most need no look-up.
    let expected = first;
    for (let game = first_game; game < first_game + games; game++) {
      const isExpected = expected < first + count && haveSameSlug(before, expected, after, game);
      const old = isExpected ? expected : findGame(before, platform, gameSlug(after, game));
      if (old === undefined) continue;
      expected = old + 1;
      if (!haveSameHash(before.games, old, after.games, game)) continue;
      sameBefore[old] = 1;
      sameAfter[game] = 1;
    }
  }
  return [sameBefore, sameAfter];
}

function haveSameSlug(a: RecordIndex, gameOfA: number, b: RecordIndex, gameOfB: number): boolean {
  const startA = a.games.slugStart[gameOfA];
  const startB = b.games.slugStart[gameOfB];
  const length = a.games.slugStart[gameOfA + 1] - startA;
  if (b.games.slugStart[gameOfB + 1] - startB !== length) return false;
  for (let i = 0; i < length; i++) {
    if (a.games.slugText[startA + i] !== b.games.slugText[startB + i]) return false;
  }
  return true;
}

function haveSameHash(a: RecordColumns, ofA: number, b: RecordColumns, ofB: number): boolean {
  return a.hash[ofA * 2] === b.hash[ofB * 2] && a.hash[ofA * 2 + 1] === b.hash[ofB * 2 + 1];
}

function hashAt({ hash }: RecordColumns, number: number): ContentHash {
  return [hash[number * 2], hash[number * 2 + 1]];
}

/** Some games of a generation, in ascending order of their ids. */
interface ListedGames {
  readonly count: number;
  name(position: number): RecordName;
  hash(position: number): ContentHash;
}

/** Lists the games that are not marked, with their ids from the packs. */
function readGames(dir: string, index: RecordIndex, marks: Uint8Array): ListedGames {
  const count = marks.length - marks.reduce((sum, mark) => sum + mark, 0);
  const numbers = new Uint32Array(count);
  const platformOf = new Uint32Array(count);
  const idHigh = new Uint32Array(count);
  const idLow = new Uint32Array(count);
  let end = 0;
  index.platforms.forEach(({ slug, first_game, games }, platform) => {
    const reader = makeRecordReader(dir, gamesPack(slug), index.games);
    try {
      for (let game = first_game; game < first_game + games; game++) {
        if (marks[game] === 1) continue;
        [idHigh[end], idLow[end]] = idIn(reader.read(game));
        platformOf[end] = platform;
        numbers[end++] = game;
      }
    } finally {
      reader.close();
    }
  });
  const order = Uint32Array.from(numbers.keys());
  order.sort((a, b) => idHigh[a] - idHigh[b] || idLow[a] - idLow[b]);
  return {
    count,
    name(position) {
      const at = order[position];
      const { slug } = index.platforms[platformOf[at]];
      return {
        kind: 'game',
        id: idOf(idHigh[at], idLow[at]),
        path: `/games/${slug}/${gameSlug(index, numbers[at])}`,
      };
    },
    hash: (position) => hashAt(index.games, numbers[order[position]]),
  };
}

/** An id in decimal digits. */
function idOf(high: number, low: number): string {
  if (high < 2 ** 21) return String(high * 2 ** 32 + low);
  return String((BigInt(high) << 32n) | BigInt(low));
}

/** The id that a record begins with. */
function idIn(record: Buffer): [high: number, low: number] {
  const [, id = ''] = /^\{"id":(\d{1,20}),/.exec(record.toString('latin1', 0, 32)) ?? [];
  const halves = splitId(id);
  if (halves === undefined)
    throw new Error(`A record has no id: ${record.toString('utf8', 0, 32)}`);
  return halves;
}

/** Reads records of one pack in ascending order, and checks their content hashes. */
function makeRecordReader(dir: string, pack: string, columns: RecordColumns) {
  let descriptor: number | undefined;
  let window = Buffer.alloc(0);
  let start = 0;

  function fill(offset: number, length: number): void {
    descriptor ??= openRegularFile(path.join(dir, pack));
    const wanted = Buffer.allocUnsafe(Math.max(WINDOW_BYTES, length));
    const read = readSync(descriptor, wanted, 0, wanted.length, offset);
    window = wanted.subarray(0, read);
    start = offset;
  }

  return {
    read(number: number): Buffer {
      const offset = columns.byteOffset[number];
      const length = columns.byteLength[number];
      if (offset < start || offset + length > start + window.length) fill(offset, length);
      const record = window.subarray(offset - start, offset - start + length);
      const [high, low] = hashBytes(record);
      const expected = hashAt(columns, number);
      if (high === expected[0] && low === expected[1]) return record;
      throw new Error(`${pack} is damaged: it does not have record ${number} at byte ${offset}.`);
    },
    close(): void {
      if (descriptor !== undefined) closeSync(descriptor);
    },
  };
}

/** Merges the games that only the earlier generation has as they are, and those of the later one. */
function* compareGames(gone: ListedGames, come: ListedGames): Generator<string> {
  let [i, j] = [0, 0];
  while (i < gone.count || j < come.count) {
    const old = i < gone.count ? gone.name(i) : undefined;
    const fresh = j < come.count ? come.name(j) : undefined;
    const order = old === undefined ? 1 : fresh === undefined ? -1 : compareNames(old, fresh);
    const name = (order <= 0 ? old : fresh) as RecordName;
    const before = order <= 0 ? gone.hash(i++) : undefined;
    const after = order >= 0 ? come.hash(j++) : undefined;
    yield encodeChange(name, before, after);
  }
}

function* compareCovers({ covers: a }: RecordIndex, { covers: b }: RecordIndex): Generator<string> {
  const [endA, endB] = [a.coverOfId.length, b.coverOfId.length];
  for (let i = 0, j = 0; i < endA || j < endB; ) {
    const order =
      i === endA ? 1 : j === endB ? -1 : a.idHigh[i] - b.idHigh[j] || a.idLow[i] - b.idLow[j];
    const high = order <= 0 ? a.idHigh[i] : b.idHigh[j];
    const low = order <= 0 ? a.idLow[i] : b.idLow[j];
    const old = order <= 0 ? a.coverOfId[i++] : undefined;
    const fresh = order >= 0 ? b.coverOfId[j++] : undefined;
    if (old !== undefined && fresh !== undefined && haveSameHash(a, old, b, fresh)) continue;
    const id = idOf(high, low);
    yield encodeChange(
      { kind: 'cover', id, path: `/covers/${id}` },
      old === undefined ? undefined : hashAt(a, old),
      fresh === undefined ? undefined : hashAt(b, fresh),
    );
  }
}
