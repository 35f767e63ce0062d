/**
 * Reads a file of a generation in pieces, for a download. The file is opened for each piece and closed
 * again, so a slow client holds neither a descriptor nor the generation. Invariant: every piece comes
 * from the file that was checked when the generation was opened.
 */
import { closeSync, constants } from 'node:fs';
import { open } from 'node:fs/promises';
import path from 'node:path';
import type { ManifestFile } from '../../format/manifest.ts';
import { openRegularFile, UnfitFileError } from '../../program/files/bounded-file.ts';
import { identityIn, identityOf } from './open-files.ts';

/** In bytes. A client that takes one piece in 30 s keeps its connection. */
const PIECE = 64 * 1024;
/** How many pieces one thread reads at the same time: each needs a descriptor. */
const MOST_READING = 8;
const READ = constants.O_RDONLY | constants.O_NONBLOCK;

export interface StoredFile {
  /** The folder of the generation. */
  readonly dir: string;
  readonly file: ManifestFile;
  /** From `identityOf`, at the time when the file was checked. */
  readonly identity: string;
}

/** The file was removed or replaced since it was checked: mostly because its generation was pruned. */
export class FileGoneError extends Error {}

/** @throws FileGoneError */
export function checkStored({ dir, file, identity }: StoredFile): void {
  let descriptor: number;
  try {
    descriptor = openRegularFile(path.join(dir, file.path));
  } catch (error) {
    const isReplaced = error instanceof UnfitFileError;
    if (!isReplaced && (error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw new FileGoneError(`${file.path} no longer exists.`, { cause: error });
  }
  const isSame = identityOf(file, descriptor) === identity;
  closeSync(descriptor);
  if (!isSame) throw new FileGoneError(`${file.path} was replaced since it was checked.`);
}

/**
 * Reads the bytes from `from` (inclusive) to `to` (exclusive). Each piece is valid until the next one is
 * requested.
 * @throws FileGoneError if the file was removed or replaced in the meantime
 */
export async function* readPieces(
  stored: StoredFile,
  from: number,
  to: number,
): AsyncGenerator<Buffer> {
  const buffer = Buffer.allocUnsafeSlow(Math.min(PIECE, to - from));
  for (let at = from; at < to; ) {
    const length = Math.min(buffer.length, to - at);
    await readPiece(stored, buffer, length, at);
    yield buffer.subarray(0, length);
    at += length;
  }
}

let reading = 0;
const waiting: (() => void)[] = [];

async function readPiece(
  { dir, file, identity }: StoredFile,
  buffer: Buffer,
  length: number,
  position: number,
): Promise<void> {
  if (reading === MOST_READING) await new Promise<void>((resolve) => waiting.push(resolve));
  else reading++;
  try {
    const handle = await open(path.join(dir, file.path), READ).catch((cause) => {
      throw new FileGoneError(`${file.path} can no longer be opened.`, { cause });
    });
    try {
      if (identityIn(await handle.stat({ bigint: true }), file.sha256) !== identity) {
        throw new FileGoneError(`${file.path} was replaced since it was checked.`);
      }
      for (let done = 0; done < length; ) {
        const { bytesRead } = await handle.read(buffer, done, length - done, position + done);
        if (bytesRead === 0) throw new FileGoneError(`${file.path} was shortened.`);
        done += bytesRead;
      }
    } finally {
      await handle.close();
    }
  } finally {
    const next = waiting.shift();
    if (next === undefined) reading--;
    else next();
  }
}
