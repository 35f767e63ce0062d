/**
 * A spill file: a temporary file for pieces of records. Pieces are written in the order of the database
 * and read in the order of publication. Pieces that are read together share a bucket. While pieces are
 * written, the use of memory does not depend on how many there are.
 */
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { firstIndex } from '../../format/index/first-index.ts';
import { readExactly } from '../../store/files/read-exactly.ts';

/** The size of all buffers together, in bytes; {@link SMALLEST_EXTENT} times the buckets if that is more. */
const BUFFERED_BYTES = 8 * 1024 * 1024;
const LARGEST_EXTENT = 64 * 1024;
const SMALLEST_EXTENT = 4 * 1024;

/** A spill file that is being written. For each piece, the caller calls `begin`, writes it, calls `end`. */
export interface SpillFile {
  /** The size of a bucket in bytes, which is the position of its next piece. */
  endOf(bucket: number): number;
  /** The buffer for the next piece. {@link begin} may replace it. */
  readonly buffer: Buffer;
  /**
   * Makes room for a piece of at most `most` bytes at the end of a bucket.
   * @returns the index in {@link buffer} at which it starts
   */
  begin(bucket: number, most: number): number;
  /** Adds the piece that the caller has written. `end` is the position after it in {@link buffer}. */
  end(bucket: number, end: number, tag?: number): void;
  /** Writes all buffers to the file. @returns what a thread needs to read the file */
  finish(): SpillContent;
  /** Closes and removes the file. */
  discard(): void;
}

/** A spill file that is complete. */
export interface SpillContent {
  readonly file: string;
  readonly descriptor: number;
  readonly buckets: readonly Bucket[];
}

/** A bucket is a list of extents: contiguous parts of the file. */
interface Bucket {
  /** Where each extent starts in the file. */
  readonly positions: number[];
  /** Where each extent starts in the bucket. */
  readonly starts: number[];
  /** In bytes. */
  size: number;
}

/** Like `writeUInt32LE`, but without its checks, which take longer than the rest of adding a piece. */
function writeNumber(buffer: Buffer, at: number, value: number): void {
  buffer[at] = value;
  buffer[at + 1] = value >>> 8;
  buffer[at + 2] = value >>> 16;
  buffer[at + 3] = value >>> 24;
}

/** A tagged piece starts with its tag and its length, 32 bits each. */
const TAG_BYTES = 8;

/**
 * Creates a spill file.
 * @param buckets the number of buckets
 * @param isTagged whether each piece has a tag, by which {@link readTagged} groups the pieces
 */
export function makeSpillFile(file: string, buckets: number, isTagged: boolean): SpillFile {
  const descriptor = openSync(file, 'wx+', 0o600);
  const share = Math.floor(BUFFERED_BYTES / Math.max(1, buckets));
  const extentBytes = Math.min(LARGEST_EXTENT, Math.max(SMALLEST_EXTENT, share));
  const all = Array.from(
    { length: buckets },
    (): Bucket => ({ positions: [], starts: [], size: 0 }),
  );
  // One allocation for all buckets: many small ones would fragment the memory.
  let slab = Buffer.allocUnsafeSlow(buckets * extentBytes);
  const buffered = new Uint32Array(buckets);
  let fileEnd = 0;
  // The buffer for a piece that may be too long for an extent.
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
      // A piece must not span two extents.
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

// All buckets are read into one buffer: new buffers would pile up until garbage is collected.
let shared = Buffer.alloc(0);

/** The bytes of a whole bucket; valid until the next bucket is read. */
function readBucket({ file, descriptor, buckets }: SpillContent, number: number): Buffer {
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

export interface SpillReader {
  /** Copies a piece into `target`, starting at `at`. Fast if the last call was for the same bucket. */
  copy(bucket: number, start: number, length: number, target: Buffer, at: number): void;
  /** Frees the memory of the bucket that was read last. */
  close(): void;
}

/** In bytes. A bucket up to this size is read as a whole; a larger bucket is read piece by piece. */
const LARGEST_LOADED = 8 * 1024 * 1024;

export function openSpillFile(content: SpillContent): SpillReader {
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
      const extent = firstIndex(0, starts.length, (i) => starts[i] > start) - 1;
      const within = start - starts[extent];
      readExactly(descriptor, target, at, length, positions[extent] + within, file);
    },
    close() {
      loaded = undefined;
      shared = Buffer.alloc(0);
    },
  };
}

/**
 * The pieces of a bucket, grouped by tag. Pieces with the same tag are in the order in which they were
 * added. Valid until the next bucket is read.
 */
export interface TaggedPieces {
  readonly bytes: Buffer;
  /**
   * Where each tag's pieces start in `start` and `length`, and at the end the number of pieces: a tag has
   * the pieces from `first[tag - firstTag]` (inclusive) to `first[tag - firstTag + 1]` (exclusive).
   */
  readonly first: Uint32Array;
  /** For each piece, its position in `bytes` and its length. */
  readonly start: Uint32Array;
  readonly length: Uint32Array;
}

/** @param tags how many tags there are; the tags of the bucket are below `firstTag + tags` */
export function readTagged(
  content: SpillContent,
  number: number,
  firstTag: number,
  tags: number,
): TaggedPieces {
  const bytes = readBucket(content, number);
  const first = new Uint32Array(tags + 1);
  let pieces = 0;
  for (let at = 0; at < bytes.length; pieces++) {
    first[bytes.readUInt32LE(at) - firstTag + 1]++;
    at += TAG_BYTES + bytes.readUInt32LE(at + 4);
  }
  for (let tag = 1; tag <= tags; tag++) first[tag] += first[tag - 1];
  const next = first.slice();
  const start = new Uint32Array(pieces);
  const length = new Uint32Array(pieces);
  for (let at = 0; at < bytes.length; ) {
    const tag = bytes.readUInt32LE(at) - firstTag;
    const pieceLength = bytes.readUInt32LE(at + 4);
    const piece = next[tag]++;
    start[piece] = at + TAG_BYTES;
    length[piece] = pieceLength;
    at += TAG_BYTES + pieceLength;
  }
  return { bytes, first, start, length };
}
