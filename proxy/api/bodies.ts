/**
 * Puts bodies together from records and the JSON around them. Records are copied from their packs, so
 * nothing is parsed or serialised.
 */

import type { GameNumber } from '../../lib/columns/numbers.ts';
import { type ContentHash, hashBytes } from '../../lib/format/content-hash.ts';
import { titlesOf } from '../../lib/format/index/titles.ts';
import {
  arrayHead,
  arrayTail,
  END_WITHOUT_FILES,
  listHead,
  listTail,
  pageTail,
  RECORD_SEPARATOR,
} from '../../lib/format/pack.ts';
import type { Body, Generation, Records } from '../snapshot/generation.ts';
import type { ResolvedInclude } from './include.ts';

/** In bytes: the bodies of nearly all responses fit into it. */
const USUAL_BYTES = 256 * 1024;
const USUAL_HASHES = 4 * 1024;

/** Memory in which a body is written: it grows with the body. */
interface Buffers {
  bytes: Buffer;
  /** The content hashes of the records so far, two entries each. */
  hashes: Uint32Array;
}

/**
 * Those of the last body that was finished, unless it was large. To write into memory that exists and to copy the
 * result takes a fifth less time than first to collect the parts.
 */
let spare: Buffers | undefined;

/** Writes one body, from its beginning to its end. */
export class BodyWriter {
  private readonly buffers: Buffers;
  private at = 0;
  private hashCount = 0;

  constructor() {
    this.buffers = spare ?? {
      bytes: Buffer.allocUnsafeSlow(USUAL_BYTES),
      hashes: new Uint32Array(USUAL_HASHES),
    };
    // Until this body is finished, another one has memory of its own.
    spare = undefined;
  }

  /** @param text ASCII */
  addText(text: string): void {
    this.reserve(text.length);
    const { bytes } = this.buffers;
    for (let i = 0; i < text.length; i++) bytes[this.at++] = text.charCodeAt(i);
  }

  /** Adds the records from `from` (inclusive) to `to` (exclusive), all of one platform. */
  addRun(records: Records, from: number, to: number): void {
    this.addBytes(records, from, to, records.sizeOf(from, to));
  }

  /** Adds a cover, unless it has no files. @returns whether it was added */
  addWithFiles(covers: Records, cover: number): boolean {
    const { at, hashCount } = this;
    this.addRun(covers, cover, cover + 1);
    const end = this.at - WITHOUT_FILES.length;
    if (WITHOUT_FILES.compare(this.buffers.bytes, end, this.at) !== 0) return true;
    this.at = at;
    this.hashCount = hashCount;
    return false;
  }

  /** Adds one record without its closing brace, so that members can be added to it. */
  addOpen(records: Records, number: number): void {
    this.addBytes(records, number, number + 1, records.sizeOf(number, number + 1) - 1);
  }

  /** Adds JSON that is not a record. */
  addJson(json: Uint8Array): void {
    this.reserve(json.length);
    this.buffers.bytes.set(json, this.at);
    this.at += json.length;
    this.addHash(hashBytes(json));
  }

  /**
   * Ends the body. Its hash is over the content hashes and the numbers, since the bytes of a page take longer.
   * @param numbers what the body depends on besides its records: whole numbers below 2^53
   */
  finish(numbers: readonly number[]): Body {
    // As integers of 64 bits; the array takes each half modulo 2^32.
    for (const number of numbers) this.addHash([number / 2 ** 32, number]);
    const hash = hashBytes(new Uint8Array(this.buffers.hashes.buffer, 0, this.hashCount * 4));
    return { bytes: this.end(), hash };
  }

  /** Ends a body that depends on more than its records and numbers. Its hash is over its bytes. */
  finishAsText(): Body {
    const bytes = this.end();
    return { bytes, hash: hashBytes(bytes) };
  }

  private end(): Buffer {
    const { buffers } = this;
    const body = Buffer.from(buffers.bytes.subarray(0, this.at));
    // A large body must not keep memory large.
    if (buffers.bytes.length === USUAL_BYTES) spare = buffers;
    return body;
  }

  private addBytes(records: Records, from: number, to: number, length: number): void {
    this.reserve(length);
    records.copy(from, length, this.buffers.bytes, this.at);
    this.at += length;
    const { hash } = records.columns;
    const end = to * 2;
    this.reserveHashes(end - from * 2);
    const { hashes } = this.buffers;
    for (let i = from * 2; i < end; i++) hashes[this.hashCount++] = hash[i];
  }

  private addHash([high, low]: ContentHash): void {
    this.reserveHashes(2);
    this.buffers.hashes[this.hashCount++] = high;
    this.buffers.hashes[this.hashCount++] = low;
  }

  private reserve(bytes: number): void {
    const { at, buffers } = this;
    if (at + bytes <= buffers.bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(at + bytes, buffers.bytes.length * 2));
    buffers.bytes.copy(larger, 0, 0, at);
    buffers.bytes = larger;
  }

  private reserveHashes(count: number): void {
    const { hashCount, buffers } = this;
    if (hashCount + count <= buffers.hashes.length) return;
    const larger = new Uint32Array((hashCount + count) * 2);
    larger.set(buffers.hashes.subarray(0, hashCount));
    buffers.hashes = larger;
  }
}

const NO_TITLES = Buffer.from('[]');
const WITHOUT_FILES = Buffer.from(END_WITHOUT_FILES);

// Lists.

/** Records, which write themselves into a list. */
interface ListContent {
  /** How many records there are. */
  readonly count: number;
  /** Adds the records with separators between them. */
  addTo(body: BodyWriter): void;
  /** What the records depend on besides their content hashes. */
  readonly hashed?: readonly number[];
}

/** The records from `from` (inclusive) to `to` (exclusive), all of one platform. */
export function consecutive(records: Records, from: number, to: number): ListContent {
  return {
    count: to - from,
    addTo(body) {
      if (from < to) body.addRun(records, from, to);
    },
  };
}

/** The list of all platforms, each with the names that mean it. */
export function platformsWithAliases(generation: Generation): Body {
  const { platforms } = generation.index;
  const aliases = generation.platformNames.aliases();
  const body = new BodyWriter();
  body.addText(listHead(platforms.length));
  platforms.forEach(({ record }, at) => {
    if (at > 0) body.addText(RECORD_SEPARATOR);
    body.addJson(record.subarray(0, -1));
    body.addText(`,"aliases":${asciiJson(aliases[at])}}`);
  });
  body.addText(listTail(platforms.length));
  return body.finishAsText();
}

/**
 * The records with these numbers, in their order. Those that are neighbours in a pack, as many titles that follow each
 * other are, need one read: of a search, this saves a sixth of the reads, and a tenth of the processor time.
 */
function gather(records: Records, numbers: readonly number[]): ListContent {
  return {
    count: numbers.length,
    addTo(body) {
      for (let from = 0, to = 0; from < numbers.length; from = to) {
        if (from > 0) body.addText(RECORD_SEPARATOR);
        to = from + 1;
        while (numbers[to] === numbers[to - 1] + 1 && !records.isFirst(numbers[to])) to++;
        body.addRun(records, numbers[from], numbers[to - 1] + 1);
      }
    },
  };
}

export interface PageOfList {
  readonly page: number;
  readonly perPage: number;
  readonly total: number;
}

/** @param further members after those of the page, each with a comma before it: ASCII */
export function pageBody(
  content: ListContent,
  { page, perPage, total }: PageOfList,
  further = '',
): Body {
  const tail = pageTail(content.count, page, perPage, total);
  const hashed = [page, perPage, total];
  if (further === '') return listBody(content, tail, hashed);
  return listBody(content, `${tail.slice(0, -1)}${further}}`, [...hashed, ...hashBytes(further)]);
}

/**
 * The records of a batch, and the entries of the request without a record.
 * @param missing ids, which become numbers, or slugs
 */
export function batchBody(content: ListContent, missing: readonly string[]): Body {
  const entries = missing.map((entry) => (/^\d+$/.test(entry) ? entry : asciiJson(entry)));
  const tail = `${arrayTail(content.count)},"missing":[${entries.join(',')}]}`;
  return listBody(content, tail, hashBytes(tail));
}

function listBody(
  { count, addTo, hashed = [] }: ListContent,
  tail: string,
  hashedInTail: readonly number[],
): Body {
  const body = new BodyWriter();
  body.addText(listHead(count));
  addTo(body);
  body.addText(tail);
  return body.finish([...hashedInTail, ...hashed]);
}

/** A value as JSON with only ASCII characters. */
export function asciiJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[^ -~]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

// Games.

/** What distinguishes, in content hashes, bodies with the same records and different members. */
const hashedOf = ({ cover, covers, titles }: ResolvedInclude) => [
  (covers ? 1 : 0) + (cover === undefined ? 0 : 2) + (titles ? 4 : 0),
];

/** A game with the included members. */
export function gameBody(generation: Generation, game: GameNumber, include: ResolvedInclude): Body {
  const body = new BodyWriter();
  makeGameWriter(generation, include, body)(game);
  return body.finish(hashedOf(include));
}

/** The given games, in their order. */
export function gatherGames(
  generation: Generation,
  games: readonly GameNumber[],
  include: ResolvedInclude | undefined,
): ListContent {
  if (include === undefined) return gather(generation.games, games);
  return {
    count: games.length,
    hashed: hashedOf(include),
    addTo(body) {
      const add = makeGameWriter(generation, include, body);
      for (const [position, game] of games.entries()) {
        if (position > 0) body.addText(RECORD_SEPARATOR);
        add(game);
      }
    },
  };
}

/**
 * @param regions those read from the name of a file, which come before those that the client prefers
 * @returns a function that adds a game to the body, with the included members
 */
export function makeGameWriter(
  generation: Generation,
  include: ResolvedInclude | undefined,
  body: BodyWriter,
): (game: GameNumber, regions?: readonly string[]) => void {
  const { games, covers } = generation;
  if (include === undefined) return (game) => body.addRun(games, game, game + 1);
  return (game, regions = []) => {
    body.addOpen(games, game);
    if (include.cover !== undefined) {
      const { types, prefer } = include.cover;
      const wanted = [...regions.flatMap(generation.regionsOf), ...prefer];
      body.addText(',"cover":');
      const best = bestCovers(generation, game, types, wanted);
      if (!best.some((cover) => body.addWithFiles(covers, cover))) body.addText('null');
    }
    if (include.covers) {
      body.addText(',"covers":');
      addCoverArray(generation, game, body);
    }
    if (include.titles) {
      body.addText(',"titles":');
      body.addJson(titlesOf(generation.titles, game) ?? NO_TITLES);
    }
    body.addText('}');
  };
}

// Covers.

/** The list of a game's covers. */
export function gameCovers(generation: Generation, game: GameNumber): Body {
  const body = new BodyWriter();
  body.addText('{"data":');
  addCoverArray(generation, game, body);
  body.addText('}');
  return body.finish([]);
}

/** Adds the covers of a game as a JSON array. */
function addCoverArray({ covers, index }: Generation, game: GameNumber, body: BodyWriter): void {
  const { firstCover } = index.games;
  const from = firstCover[game];
  const to = firstCover[game + 1];
  body.addText(arrayHead(to - from));
  if (from < to) body.addRun(covers, from, to);
  body.addText(arrayTail(to - from));
}

/** The given covers, in their order. */
export function gatherCovers({ covers }: Generation, numbers: readonly number[]): ListContent {
  return gather(covers, numbers);
}

/**
 * The covers of a game that may stand for it, the best first: by type, then by region, then by id.
 * @param types the numbers of the types that they may have, the best first
 * @param prefer the numbers of the preferred regions, the best first
 * @returns the numbers of the covers
 */
function bestCovers(
  { index }: Generation,
  game: GameNumber,
  types: readonly number[],
  prefer: readonly number[],
): readonly number[] {
  const { region, type, orderOfId } = index.covers;
  const { firstCover } = index.games;
  const found: { readonly cover: number; readonly score: number }[] = [];
  for (let cover = firstCover[game]; cover < firstCover[game + 1]; cover++) {
    const ofType = types.indexOf(type[cover]);
    if (ofType < 0) continue;
    const wish = prefer.indexOf(region[cover]);
    const rank = ofType * (prefer.length + 1) + (wish < 0 ? prefer.length : wish);
    found.push({ cover, score: rank * 0x1_0000 + orderOfId[cover] });
  }
  return found.sort((a, b) => a.score - b.score).map(({ cover }) => cover);
}
