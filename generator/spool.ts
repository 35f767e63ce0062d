/**
 * A temporary file that pieces of records are put aside in while rows arrive in the database's
 * order, to be copied out in title order. It keeps memory flat however long descriptions are.
 */
import { closeSync, openSync, readSync, rmSync, writeSync } from 'node:fs';

const BUFFER_BYTES = 1024 * 1024;

export interface Spool {
  /** How many bytes were put aside so far: where the next piece starts. */
  readonly end: number;
  /** @returns the length of the piece in bytes */
  add(piece: string): number;
  /** Copies a piece to a place of a buffer. */
  copy(start: number, length: number, target: Buffer, at: number): void;
  /** Removes the file. */
  discard(): void;
}

export function makeSpool(file: string): Spool {
  const descriptor = openSync(file, 'wx+', 0o600);
  const buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  let buffered = 0;
  let written = 0;

  function write(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) {
      at += writeSync(descriptor, bytes, at, bytes.length - at, written + at);
    }
    written += bytes.length;
  }

  function flush(): void {
    write(buffer.subarray(0, buffered));
    buffered = 0;
  }

  return {
    get end() {
      return written + buffered;
    },
    add(piece) {
      // Three bytes a code unit is the most that UTF-8 takes.
      if (piece.length * 3 > buffer.length - buffered) {
        flush();
        if (piece.length * 3 > buffer.length) {
          const bytes = Buffer.from(piece);
          write(bytes);
          return bytes.length;
        }
      }
      const length = buffer.write(piece, buffered);
      buffered += length;
      return length;
    },
    copy(start, length, target, at) {
      if (buffered > 0) flush();
      for (let done = 0; done < length; ) {
        const read = readSync(descriptor, target, at + done, length - done, start + done);
        if (read === 0) throw new Error(`The spool ${file} ends early.`);
        done += read;
      }
    },
    discard() {
      closeSync(descriptor);
      rmSync(file, { force: true });
    },
  };
}
