/**
 * A temporary file in which pieces of records wait while rows arrive in the database's order, to be
 * copied out in the order of publication. Pieces that are read together are kept together, in a
 * bucket; memory stays flat however many there are and however long.
 */
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { readExactly } from '../../store/files/read-exactly.ts';

/** All the buffers together, in bytes. */
const BUFFERED_BYTES = 8 * 1024 * 1024;
const LARGEST_EXTENT = 64 * 1024;
const SMALLEST_EXTENT = 4 * 1024;

/** A spool that is being filled. */
export interface Spool {
  /** How many bytes a bucket holds: where its next piece starts. */
  endOf(bucket: number): number;
  /** What the next piece is written to. */
  readonly buffer: Buffer;
  /**
   * Makes room for a piece of at most so many bytes at the end of a bucket.
   * @returns where in {@link buffer} it is to be written
   */
  begin(bucket: number, most: number): number;
  /** Takes the piece that was written, up to a place of {@link buffer}. */
  end(bucket: number, end: number, tag?: number): void;
  /** Writes out what is buffered. @returns where everything is, for whichever thread reads it */
  finish(): SpoolContent;
  /** Removes the file. */
  discard(): void;
}

/** Where the extents of each bucket stand: in the file, and in the bytes of the bucket. */
export interface SpoolContent {
  readonly file: string;
  readonly descriptor: number;
  readonly buckets: readonly Bucket[];
}

interface Bucket {
  readonly positions: number[];
  readonly starts: number[];
  size: number;
}

/** As `writeUInt32LE`, whose checks take longer than the rest of adding a piece. */
function writeNumber(buffer: Buffer, at: number, value: number): void {
  buffer[at] = value;
  buffer[at + 1] = value >>> 8;
  buffer[at + 2] = value >>> 16;
  buffer[at + 3] = value >>> 24;
}

/** A tagged piece begins with its tag and its length, 32 bits each. */
const TAG_BYTES = 8;

/** @param buckets how many there are, @param isTagged whether each piece has a tag */
export function makeSpool(file: string, buckets: number, isTagged: boolean): Spool {
  const descriptor = openSync(file, 'wx+', 0o600);
  const share = Math.floor(BUFFERED_BYTES / Math.max(1, buckets));
  const extentBytes = Math.min(LARGEST_EXTENT, Math.max(SMALLEST_EXTENT, share));
  const all = Array.from(
    { length: buckets },
    (): Bucket => ({ positions: [], starts: [], size: 0 }),
  );
  // One piece of memory for all: many small ones leave holes among what else comes and goes.
  let slab = Buffer.allocUnsafeSlow(buckets * extentBytes);
  const buffered = new Uint32Array(buckets);
  let fileEnd = 0;
  // Of a piece that may not fit its extent, until it is taken.
  let large: Buffer | undefined;

  function write(number: number, bytes: Buffer): void {
    const bucket = all[number];
    try {
      for (let at = 0; at < bytes.length; ) {
        at += writeSync(descriptor, bytes, at, bytes.length - at, fileEnd + at);
      }
    } catch (cause) {
      throw new Error(`write ${file}: ${(cause as Error).message}`, { cause });
    }
    bucket.positions.push(fileEnd);
    bucket.starts.push(bucket.size);
    bucket.size += bytes.length;
    fileEnd += bytes.length;
  }

  function flush(number: number): void {
    const length = buffered[number];
    const start = number * extentBytes;
    if (length > 0) write(number, slab.subarray(start, start + length));
    buffered[number] = 0;
  }

  return {
    endOf: (number) => all[number].size + buffered[number],
    get buffer() {
      return large ?? slab;
    },
    begin(number, most) {
      // No piece spans two extents.
      if (TAG_BYTES + most > extentBytes - buffered[number]) flush(number);
      large = TAG_BYTES + most > extentBytes ? Buffer.allocUnsafeSlow(TAG_BYTES + most) : undefined;
      const start = large ? 0 : number * extentBytes + buffered[number];
      return isTagged ? start + TAG_BYTES : start;
    },
    end(number, end, tag = 0) {
      const buffer = large ?? slab;
      const start = large ? 0 : number * extentBytes + buffered[number];
      if (isTagged) {
        writeNumber(buffer, start, tag);
        writeNumber(buffer, start + 4, end - start - TAG_BYTES);
      }
      if (large) write(number, large.subarray(0, end));
      else buffered[number] = end - number * extentBytes;
      large = undefined;
    },
    finish() {
      for (let number = 0; number < buckets; number++) flush(number);
      slab = Buffer.alloc(0);
      return { file, descriptor, buckets: all };
    },
    discard() {
      closeSync(descriptor);
      rmSync(file, { force: true });
    },
  };
}

// One buffer serves all buckets in turn: a new one for each would pile up until the collector comes.
let shared = Buffer.alloc(0);

/** The bytes of a whole bucket, until the next is read. */
function readBucket({ file, descriptor, buckets }: SpoolContent, number: number): Buffer {
  const { positions, starts, size } = buckets[number];
  if (shared.length < size) shared = Buffer.allocUnsafeSlow(Math.ceil(size * 1.25));
  const bytes = shared.subarray(0, size);
  positions.forEach((position, extent) => {
    const start = starts[extent];
    const length = (starts[extent + 1] ?? size) - start;
    readExactly(descriptor, bytes, start, length, position, file);
  });
  return bytes;
}

export interface SpoolReader {
  /** Copies a piece to a place of a buffer. Quick as long as the bucket stays the same. */
  copy(bucket: number, start: number, length: number, target: Buffer, at: number): void;
}

/** A bucket up to this size is read as a whole; of a larger one each piece by itself. */
const LARGEST_LOADED = 8 * 1024 * 1024;

export function openSpool(content: SpoolContent): SpoolReader {
  const { file, descriptor, buckets } = content;
  let loaded: { number: number; bytes: Buffer } | undefined;
  return {
    copy(number, start, length, target, at) {
      const { positions, starts, size } = buckets[number];
      if (size <= LARGEST_LOADED) {
        if (loaded?.number !== number) loaded = { number, bytes: readBucket(content, number) };
        loaded.bytes.copy(target, at, start, start + length);
        return;
      }
      const extent = lastAtOrBelow(starts, start);
      const within = start - starts[extent];
      readExactly(descriptor, target, at, length, positions[extent] + within, file);
    },
  };
}

/**
 * Where each tagged piece of a bucket stands, by tag; pieces of one tag in the order of adding.
 * Good until the next bucket is read.
 */
export interface TaggedPieces {
  readonly bytes: Buffer;
  /** Entries of `start` and `length` from `first[tag - firstTag]` to before the next. */
  readonly first: Uint32Array;
  readonly start: Uint32Array;
  readonly length: Uint32Array;
}

/** @param tags how many tags the bucket may hold, from `firstTag` on */
export function readTagged(
  content: SpoolContent,
  number: number,
  firstTag: number,
  tags: number,
): TaggedPieces {
  const bytes = readBucket(content, number);
  const first = new Uint32Array(tags + 1);
  let pieces = 0;
  for (let at = 0; at < bytes.length; pieces++) {
    const next = bytes.readUInt32LE(at) - firstTag + 1;
    first[next] = first[next] + 1;
    at += TAG_BYTES + bytes.readUInt32LE(at + 4);
  }
  for (let tag = 1; tag <= tags; tag++) {
    first[tag] = first[tag] + first[tag - 1];
  }
  const next = first.slice();
  const start = new Uint32Array(pieces);
  const length = new Uint32Array(pieces);
  for (let at = 0; at < bytes.length; ) {
    const tag = bytes.readUInt32LE(at) - firstTag;
    const pieceLength = bytes.readUInt32LE(at + 4);
    const place = next[tag];
    next[tag] = place + 1;
    start[place] = at + TAG_BYTES;
    length[place] = pieceLength;
    at += TAG_BYTES + pieceLength;
  }
  return { bytes, first, start, length };
}

function lastAtOrBelow(starts: readonly number[], value: number): number {
  let from = 0;
  let to = starts.length - 1;
  while (from < to) {
    const middle = (from + to + 1) >>> 1;
    if (starts[middle] <= value) from = middle;
    else to = middle - 1;
  }
  return from;
}
