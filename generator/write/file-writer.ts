/**
 * Writes the files of a generation, one at a time, through a large buffer, and hashes their content.
 * Writing is synchronous, since promises would take twice as long for the same bytes. A complete file is
 * synced to disk in the background, while the next files are written.
 */
import { createHash } from 'node:crypto';
import { close, closeSync, fsync, rmSync, writeSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import type { ManifestFile } from '../../lib/format/manifest.ts';
import { openForWriting } from '../../lib/generations/files/file-modes.ts';

const BUFFER_BYTES = 1024 * 1024;
const MOST_UNSYNCED = 16;

/** The folder of a generation that is written. */
export class Output {
  readonly dir: string;
  private buffer: Buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  /** One that failed stays, so that {@link allSynced} reports it. */
  private readonly unsynced = new Set<Promise<void>>();

  constructor(dir: string) {
    this.dir = dir;
  }

  /** Writes a whole file from its pieces. @param name as in {@link fill} */
  write(name: string, pieces: Iterable<string | Uint8Array>): Promise<ManifestFile> {
    return this.fill(name, (writer) => {
      for (const piece of pieces) writer.add(piece);
    });
  }

  /**
   * Writes a file, which is on disk after {@link allSynced}. Its folder must exist.
   * @param name relative to the folder of the generation
   * @param fill writes the content; what it throws is thrown
   * @returns the entry of the file in the manifest
   */
  async fill(name: string, fill: (writer: FileWriter) => void): Promise<ManifestFile> {
    const descriptor = openForWriting(path.join(this.dir, name), 'wx');
    const writer = new FileWriter(name, descriptor, this.buffer);
    let file: ManifestFile;
    try {
      fill(writer);
      file = writer.finish();
    } catch (error) {
      // While it is open, a file keeps its space even after it is removed.
      closeSync(descriptor);
      throw error;
    }
    this.buffer = writer.buffer;
    await this.syncInBackground(descriptor, name);
    return file;
  }

  remove(name: string): void {
    rmSync(path.join(this.dir, name));
  }

  /**
   * Waits until every complete file is on disk.
   * @throws Error that names a file that could not be synced
   */
  async allSynced(): Promise<void> {
    await Promise.all(this.unsynced);
  }

  /** Starts to sync and close a file. Waits only while too many files are not synced yet. */
  private async syncInBackground(descriptor: number, name: string): Promise<void> {
    const sync = promisify(fsync)(descriptor)
      .finally(() => promisify(close)(descriptor))
      .catch((cause: Error) => {
        throw new Error(`sync ${name}: ${cause.message}`, { cause });
      });
    this.unsynced.add(sync);
    sync.then(
      () => this.unsynced.delete(sync),
      () => {},
    );
    if (this.unsynced.size > MOST_UNSYNCED) await Promise.race(this.unsynced);
  }
}

/** A file that is being written. After `reserve`, write into `buffer` from `at` on, and then advance `at`. */
class FileWriter {
  buffer: Buffer;
  at = 0;
  private flushed = 0;
  private readonly sha256 = createHash('sha256');
  private readonly name: string;
  private readonly descriptor: number;

  constructor(name: string, descriptor: number, buffer: Buffer) {
    this.name = name;
    this.descriptor = descriptor;
    this.buffer = buffer;
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

  /** Writes what is in the buffer. @returns the entry of the file in the manifest */
  finish(): ManifestFile {
    this.flush();
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
      throw new Error(`write ${this.name}: ${(cause as Error).message}`, { cause });
    }
    this.flushed += bytes.length;
  }
}
