/**
 * Writes the files of a generation, one at a time, through a large buffer, and hashes their content.
 * Writing is synchronous, since promises would take twice as long for the same bytes. A complete file is
 * synced to disk in the background, while the next files are written.
 */
import { createHash } from 'node:crypto';
import { close, closeSync, fsync, writeSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import type { ManifestFile } from '../../lib/format/manifest.ts';
import { openForWriting } from '../../lib/generations/files/file-modes.ts';

const BUFFER_BYTES = 1024 * 1024;
/** Buffers of files that are complete. */
const unused: Buffer[] = [];

/** A file that is being written. After `reserve`, write into `buffer` from `at` on, and then advance `at`. */
export class FileWriter {
  buffer = unused.pop() ?? Buffer.allocUnsafeSlow(BUFFER_BYTES);
  at = 0;
  private flushed = 0;
  private readonly sha256 = createHash('sha256');
  private readonly descriptor: number;
  private readonly name: string;

  /** @param dir the generation's folder @param name relative to `dir`; its folder must exist */
  constructor(dir: string, name: string) {
    this.name = name;
    this.descriptor = openForWriting(path.join(dir, name), 'wx');
  }

  /** Makes room for contiguous bytes. It may replace `buffer` and change `at`. */
  reserve(bytes: number): void {
    if (this.at + bytes <= this.buffer.length) return;
    this.flush();
    if (bytes > this.buffer.length) this.buffer = Buffer.allocUnsafeSlow(bytes);
  }

  /** The size of the file so far, in bytes. */
  end(): number {
    return this.flushed + this.at;
  }

  add(piece: string | Uint8Array): void {
    if (typeof piece === 'string') {
      // UTF-8 takes at most three bytes per code unit.
      this.reserve(piece.length * 3);
      this.at += this.buffer.write(piece, this.at);
    } else {
      this.flush();
      this.put(piece);
    }
  }

  /** Completes the file. It is on disk after {@link allSynced}. @returns its entry in the manifest */
  async finish(): Promise<ManifestFile> {
    this.flush();
    unused.push(this.buffer);
    await syncInBackground(this.descriptor, this.name);
    return { path: this.name, size: this.flushed, sha256: this.sha256.digest('hex') };
  }

  private flush(): void {
    this.put(this.buffer.subarray(0, this.at));
    this.at = 0;
  }

  private put(bytes: Uint8Array): void {
    this.sha256.update(bytes);
    try {
      for (let at = 0; at < bytes.length; )
        at += writeSync(this.descriptor, bytes, at, bytes.length - at);
    } catch (cause) {
      // While it is open, a file keeps its space even after it is removed.
      closeSync(this.descriptor);
      throw new Error(`write ${this.name}: ${(cause as Error).message}`, { cause });
    }
    this.flushed += bytes.length;
  }
}

const MOST_UNSYNCED = 16;
const unsynced = new Set<Promise<void>>();

/** Starts to sync and close a file. Waits only while too many files are not synced yet. */
async function syncInBackground(descriptor: number, name: string): Promise<void> {
  const sync = promisify(fsync)(descriptor)
    .finally(() => promisify(close)(descriptor))
    .catch((cause: Error) => {
      throw new Error(`sync ${name}: ${cause.message}`, { cause });
    });
  unsynced.add(sync);
  // A sync that failed stays in the set, so that allSynced reports it.
  sync.then(
    () => unsynced.delete(sync),
    () => {},
  );
  if (unsynced.size > MOST_UNSYNCED) await Promise.race(unsynced);
}

/**
 * Waits until every file that this thread has completed is on disk.
 * @throws Error that names a file that could not be synced
 */
export async function allSynced(): Promise<void> {
  await Promise.all(unsynced);
}

/** Writes a whole file from its pieces. */
export function writeWhole(
  dir: string,
  name: string,
  pieces: Iterable<string | Uint8Array>,
): Promise<ManifestFile> {
  const writer = new FileWriter(dir, name);
  for (const piece of pieces) writer.add(piece);
  return writer.finish();
}
