/**
 * A temporary file that pieces of records are put aside in while rows arrive in the database's
 * order, to be copied out in title order. Pieces of one platform are kept together, so that a pack
 * is made from one sequential read; memory stays flat however long descriptions are.
 */
import { closeSync, openSync, readSync, rmSync, writeSync } from 'node:fs';

/** All the buffers together, in bytes. */
const BUFFERED_BYTES = 8 * 1024 * 1024;
const LARGEST_EXTENT = 64 * 1024;
const SMALLEST_EXTENT = 4 * 1024;
/** A bucket up to this size is read as a whole; of a larger one each piece by itself. */
const LARGEST_LOADED = 24 * 1024 * 1024;

export interface Spool {
  /** How many bytes a bucket holds: where its next piece starts. */
  endOf(bucket: number): number;
  /** Puts a piece into a bucket. @returns its length in bytes */
  add(bucket: number, piece: string): number;
  /** Copies a piece to a place of a buffer. Quick as long as the bucket stays the same. */
  copy(bucket: number, start: number, length: number, target: Buffer, at: number): void;
  /** Removes the file. */
  discard(): void;
}

interface Bucket {
  buffer: Buffer | undefined;
  buffered: number;
  /** Where each full extent stands in the file. */
  readonly extents: number[];
}

/** @param buckets how many there are: pieces that are read together belong into one */
export function makeSpool(file: string, buckets: number): Spool {
  const descriptor = openSync(file, 'wx+', 0o600);
  const share = Math.floor(BUFFERED_BYTES / Math.max(1, buckets));
  const extentBytes = Math.min(LARGEST_EXTENT, Math.max(SMALLEST_EXTENT, share));
  const all = Array.from(
    { length: buckets },
    (): Bucket => ({ buffer: undefined, buffered: 0, extents: [] }),
  );
  let fileEnd = 0;
  let loaded: { bucket: number; bytes: Buffer } | undefined;

  const bucketOf = (number: number) => all[number] as Bucket;
  const sizeOf = ({ extents, buffered }: Bucket) => extents.length * extentBytes + buffered;

  function flush(bucket: Bucket): void {
    const { buffer } = bucket;
    try {
      for (let at = 0; at < extentBytes; ) {
        at += writeSync(descriptor, buffer as Buffer, at, extentBytes - at, fileEnd + at);
      }
    } catch (cause) {
      throw new Error(`write ${file}: ${(cause as Error).message}`, { cause });
    }
    bucket.extents.push(fileEnd);
    bucket.buffered = 0;
    fileEnd += extentBytes;
  }

  function addBytes(bucket: Bucket, bytes: Buffer): void {
    for (let done = 0; done < bytes.length; ) {
      const copied = bytes.copy(bucket.buffer as Buffer, bucket.buffered, done);
      done += copied;
      bucket.buffered += copied;
      if (bucket.buffered === extentBytes) flush(bucket);
    }
  }

  /** Reads from the extents of a bucket, and from what it still has in memory. */
  function read(bucket: Bucket, start: number, length: number, target: Buffer, at: number): void {
    for (let done = 0; done < length; ) {
      const extent = Math.floor((start + done) / extentBytes);
      const within = (start + done) % extentBytes;
      const wanted = Math.min(extentBytes - within, length - done);
      const position = bucket.extents[extent];
      if (position === undefined) {
        bucket.buffer?.copy(target, at + done, within, within + wanted);
        done += wanted;
        continue;
      }
      const got = readSync(descriptor, target, at + done, wanted, position + within);
      if (got === 0) throw new Error(`The spool ${file} ends early.`);
      done += got;
    }
  }

  return {
    endOf: (number) => sizeOf(bucketOf(number)),
    add(number, piece) {
      const bucket = bucketOf(number);
      bucket.buffer ??= Buffer.allocUnsafeSlow(extentBytes);
      // Three bytes a code unit is the most that UTF-8 takes.
      if (piece.length * 3 < extentBytes - bucket.buffered) {
        const length = bucket.buffer.write(piece, bucket.buffered);
        bucket.buffered += length;
        return length;
      }
      const bytes = Buffer.from(piece);
      addBytes(bucket, bytes);
      return bytes.length;
    },
    copy(number, start, length, target, at) {
      if (loaded?.bucket !== number) {
        const bucket = bucketOf(number);
        const size = sizeOf(bucket);
        if (size > LARGEST_LOADED) {
          read(bucket, start, length, target, at);
          return;
        }
        const bytes = Buffer.allocUnsafeSlow(size);
        read(bucket, 0, size, bytes, 0);
        loaded = { bucket: number, bytes };
      }
      loaded.bytes.copy(target, at, start, start + length);
    },
    discard() {
      closeSync(descriptor);
      rmSync(file, { force: true });
    },
  };
}
