/**
 * Puts bodies together from records and the JSON around them. Records are copied from their packs, so
 * nothing is parsed or serialised.
 */
import { combineHashes, hashBytes } from '../../format/content-hash.ts';
import { NOT_FRONT } from '../../format/index/record-index.ts';
import { arrayHead, arrayTail, listHead, pageTail, RECORD_SEPARATOR } from '../../format/pack.ts';
import type { Body, Generation } from '../snapshot/generation.ts';
import type { Records } from '../snapshot/records.ts';

/** Writes one body, from its beginning to its end. */
export interface BodyWriter {
  /** @param text ASCII */
  addText(text: string): void;
  /** Adds the records from `from` (inclusive) to `to` (exclusive), all of one platform. */
  addRun(records: Records, from: number, to: number): void;
  /** Adds one record without its closing brace, so that members can be added to it. */
  addOpen(records: Records, number: number): void;
  /**
   * @param numbers what the body depends on besides its records, for the hash: whole numbers below 2^53
   */
  finish(numbers: readonly number[]): Body;
}

/** In bytes; the next body gets a new buffer after a larger one, so that memory does not stay large. */
const USUAL_BYTES = 256 * 1024;
let buffer = Buffer.allocUnsafeSlow(USUAL_BYTES);
/** The content hashes of the records so far, two entries each. */
let hashes = new Uint32Array(4 * 1024);

/**
 * Only one body can be written at a time. Writing into one buffer and copying the result takes a fifth
 * less time than first collecting the parts and their sizes.
 */
function startBody(): BodyWriter {
  if (buffer.length > USUAL_BYTES) buffer = Buffer.allocUnsafeSlow(USUAL_BYTES);
  let at = 0;
  let hashCount = 0;

  function reserve(bytes: number): void {
    if (at + bytes <= buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(at + bytes, buffer.length * 2));
    buffer.copy(larger, 0, 0, at);
    buffer = larger;
  }

  function addBytes(records: Records, from: number, to: number, length: number): void {
    reserve(length);
    records.copy(from, length, buffer, at);
    at += length;
    const { hash } = records.columns;
    const end = to * 2;
    if (hashCount + end - from * 2 > hashes.length) {
      const larger = new Uint32Array((hashCount + end - from * 2) * 2);
      larger.set(hashes.subarray(0, hashCount));
      hashes = larger;
    }
    for (let i = from * 2; i < end; i++) hashes[hashCount++] = hash[i];
  }

  return {
    addText(text) {
      reserve(text.length);
      for (let i = 0; i < text.length; i++) buffer[at++] = text.charCodeAt(i);
    },
    addRun(records, from, to) {
      addBytes(records, from, to, records.sizeOf(from, to));
    },
    addOpen(records, number) {
      addBytes(records, number, number + 1, records.sizeOf(number, number + 1) - 1);
    },
    finish: (numbers) => ({
      bytes: Buffer.from(buffer.subarray(0, at)),
      hash: combineHashes(hashes.subarray(0, hashCount), numbers),
    }),
  };
}

/** The body of a single record. */
export function recordBody(records: Records, number: number): Body {
  const bytes = Buffer.allocUnsafe(records.sizeOf(number, number + 1));
  records.copy(number, bytes.length, bytes, 0);
  return { bytes, hash: records.hashOf(number) };
}

/** Adds the records with the given numbers, in their order, with separators between them. */
function addEach(
  numbers: readonly number[],
  body: BodyWriter,
  add: (number: number) => void,
): void {
  for (let position = 0; position < numbers.length; position++) {
    if (position > 0) body.addText(RECORD_SEPARATOR);
    add(numbers[position]);
  }
}

// Lists.

/** Records, which write themselves into a list. */
export interface ListContent {
  /** How many records there are. */
  readonly count: number;
  /** Adds the records with separators between them. */
  addTo(body: BodyWriter): void;
  /** What the records depend on besides their content hashes. */
  readonly hashed?: readonly number[];
}

export interface Page {
  readonly page: number;
  readonly perPage: number;
  readonly total: number;
}

export function pageBody(content: ListContent, { page, perPage, total }: Page): Body {
  const tail = pageTail(content.count, page, perPage, total);
  return listBody(content, tail, [page, perPage, total]);
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
  const body = startBody();
  body.addText(listHead(count));
  addTo(body);
  body.addText(tail);
  return body.finish([...hashedInTail, ...hashed]);
}

/** A text as JSON with only ASCII characters. */
function asciiJson(text: string): string {
  return JSON.stringify(text).replaceAll(
    /[^ -~]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

// Games.

/** The member that each game gets in addition to its own. */
export type Include =
  | { readonly member: 'covers' }
  | {
      readonly member: 'cover';
      /** The preferred regions, the best first, as the client wrote them. */
      readonly prefer: readonly string[];
    };

/** Distinguish, in content hashes, bodies with the same records and different members. */
const HASHED = { covers: [1], cover: [2] } as const;

export function gameBody(generation: Generation, game: number, include: Include | undefined): Body {
  if (include === undefined) return recordBody(generation.games, game);
  const body = startBody();
  makeGameWriter(generation, include, body)(game);
  return body.finish(HASHED[include.member]);
}

/** The given games, in their order. */
export function gatherGames(
  generation: Generation,
  games: readonly number[],
  include: Include | undefined,
): ListContent {
  return {
    count: games.length,
    hashed: include === undefined ? [] : HASHED[include.member],
    addTo: (body) => addEach(games, body, makeGameWriter(generation, include, body)),
  };
}

/** The games from `from` (inclusive) to `to` (exclusive), all of one platform. */
export function consecutiveGames(
  generation: Generation,
  from: number,
  to: number,
  include: Include | undefined,
): ListContent {
  if (include !== undefined) {
    const games = Array.from({ length: to - from }, (_, i) => from + i);
    return gatherGames(generation, games, include);
  }
  return {
    count: to - from,
    addTo(body) {
      if (from < to) body.addRun(generation.games, from, to);
    },
  };
}

/** @returns a function that adds a game to the body, with the included member */
function makeGameWriter(
  generation: Generation,
  include: Include | undefined,
  body: BodyWriter,
): (game: number) => void {
  const { games, covers } = generation;
  if (include === undefined) return (game) => body.addRun(games, game, game + 1);
  if (include.member === 'covers') {
    return (game) => {
      body.addOpen(games, game);
      body.addText(',"covers":');
      addCoverArray(generation, game, body);
      body.addText('}');
    };
  }
  const prefer = include.prefer.flatMap((region) => generation.regionOf(region) ?? []);
  return (game) => {
    body.addOpen(games, game);
    const cover = bestCover(generation, game, prefer);
    if (cover === undefined) return body.addText(',"cover":null}');
    body.addText(',"cover":');
    body.addRun(covers, cover, cover + 1);
    body.addText('}');
  };
}

// Covers.

/** The list of a game's covers. */
export function gameCovers(generation: Generation, game: number): Body {
  const body = startBody();
  body.addText('{"data":');
  addCoverArray(generation, game, body);
  body.addText('}');
  return body.finish([]);
}

/** Adds the covers of a game as a JSON array. */
function addCoverArray({ covers, index }: Generation, game: number, body: BodyWriter): void {
  const { firstCover } = index.games;
  const from = firstCover[game];
  const to = firstCover[game + 1];
  body.addText(arrayHead(to - from));
  if (from < to) body.addRun(covers, from, to);
  body.addText(arrayTail(to - from));
}

/** The covers from `from` (inclusive) to `to` (exclusive), all of one platform. */
export function consecutiveCovers({ covers }: Generation, from: number, to: number): ListContent {
  return {
    count: to - from,
    addTo(body) {
      if (from < to) body.addRun(covers, from, to);
    },
  };
}

/** The given covers, in their order. */
export function gatherCovers({ covers }: Generation, numbers: readonly number[]): ListContent {
  return {
    count: numbers.length,
    addTo: (body) => addEach(numbers, body, (cover) => body.addRun(covers, cover, cover + 1)),
  };
}

/**
 * Chooses a cover of a game: a front cover if there is one, then by region, then by id.
 * @param prefer the numbers of the preferred regions, the best first
 * @returns the number of the cover; undefined if the game has none
 */
function bestCover(
  { index }: Generation,
  game: number,
  prefer: readonly number[],
): number | undefined {
  const { region, preference } = index.covers;
  const { firstCover } = index.games;
  let best: number | undefined;
  let bestScore = Number.POSITIVE_INFINITY;
  for (let cover = firstCover[game]; cover < firstCover[game + 1]; cover++) {
    const wish = prefer.indexOf(region[cover]);
    const front = preference[cover] < NOT_FRONT ? 0 : 1;
    const rank = front * (prefer.length + 1) + (wish < 0 ? prefer.length : wish);
    const score = rank * 2 * NOT_FRONT + preference[cover];
    if (score < bestScore) {
      best = cover;
      bestScore = score;
    }
  }
  return best;
}
