/**
 * Writes the files of a generation, one at a time, through a large buffer, and hashes their content.
 * Writing is synchronous, since promises would take twice as long for the same bytes. A complete file is
 * synced to disk in the background, while the next files are written.
 */
import { createHash, type Hash } from 'node:crypto';
import { close, closeSync, fsync, writeSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import type { ManifestFile } from '../../format/manifest.ts';
import { openForWriting } from '../../store/files/file-modes.ts';

const BUFFER_BYTES = 1024 * 1024;

export interface FileWriter {
  /** After `reserve`, the caller can write into `buffer` at `at`, and then advances `at`. */
  buffer: Buffer;
  at: number;
  /** Makes room for `bytes` contiguous bytes. It may replace `buffer` and change `at`. */
  reserve(bytes: number): void;
  /** The size of the file so far, in bytes. */
  end(): number;
  add(piece: string | Uint8Array): void;
  /** Completes the file. It is on disk after {@link allSynced}. @returns its entry in the manifest */
  finish(): Promise<ManifestFile>;
}

/** Buffers of files that are complete. */
const unused: Buffer[] = [];

/**
 * @param dir the generation's folder
 * @param name the path of the file, relative to `dir`; its folder must exist
 */
export function writeFile(dir: string, name: string): FileWriter {
  const descriptor = openForWriting(path.join(dir, name), 'wx');
  const sha256: Hash = createHash('sha256');
  let flushed = 0;

  function put(bytes: Uint8Array): void {
    sha256.update(bytes);
    try {
      for (let at = 0; at < bytes.length; )
        at += writeSync(descriptor, bytes, at, bytes.length - at);
    } catch (cause) {
      // While it is open, a file keeps its space even after it is removed.
      closeSync(descriptor);
      throw new Error(`write ${name}: ${(cause as Error).message}`, { cause });
    }
    flushed += bytes.length;
  }

  function flush(): void {
    put(writer.buffer.subarray(0, writer.at));
    writer.at = 0;
  }

  const writer: FileWriter = {
    buffer: unused.pop() ?? Buffer.allocUnsafeSlow(BUFFER_BYTES),
    at: 0,
    reserve(bytes) {
      if (writer.at + bytes <= writer.buffer.length) return;
      flush();
      if (bytes <= writer.buffer.length) return;
      writer.buffer = Buffer.allocUnsafeSlow(bytes);
    },
    end: () => flushed + writer.at,
    add(piece) {
      if (typeof piece === 'string') {
        // UTF-8 takes at most three bytes per code unit.
        writer.reserve(piece.length * 3);
        writer.at += writer.buffer.write(piece, writer.at);
      } else {
        flush();
        put(piece);
      }
    },
    async finish() {
      const size = writer.end();
      flush();
      unused.push(writer.buffer);
      await syncInBackground(descriptor, name);
      return { path: name, size, sha256: sha256.digest('hex') };
    },
  };
  return writer;
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
  const writer = writeFile(dir, name);
  for (const piece of pieces) writer.add(piece);
  return writer.finish();
}
