/**
 * Reads a file of a generation in pieces, for a download. Invariant: every piece comes from the file that
 * was checked when the generation was opened. A download that has begun may end after its generation was
 * removed.
 */
import { type BigIntStats, constants, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import path from 'node:path';
import type { ManifestFile } from '../../lib/format/manifest.ts';
import { identityIn } from '../../lib/generations/files/checked-files.ts';

/** In bytes. */
const PIECE = 64 * 1024;
const READ = constants.O_RDONLY | constants.O_NONBLOCK;

export interface StoredFile {
  /** The folder of the generation. */
  readonly dir: string;
  readonly file: ManifestFile;
  /** From `identityIn`, at the time when the file was checked. */
  readonly identity: string;
}

/** The file was removed or replaced since it was checked: mostly because its generation was pruned. */
export class FileGoneError extends Error {}

/** @throws FileGoneError */
export function checkStored(stored: StoredFile): void {
  const name = path.join(stored.dir, stored.file.path);
  checkIdentity(stored, statSync(name, { bigint: true, throwIfNoEntry: false }));
}

/**
 * Reads the bytes from `from` (inclusive) to `to` (exclusive). The file is open until the end.
 * @throws FileGoneError if the file was removed before the first piece, or has changed since
 */
export async function* readPieces(
  stored: StoredFile,
  from: number,
  to: number,
): AsyncGenerator<Buffer> {
  const { dir, file } = stored;
  await using handle = await open(path.join(dir, file.path), READ).catch((cause) => {
    throw new FileGoneError(`${file.path} can no longer be opened.`, { cause });
  });
  for (let at = from; at < to; ) {
    checkIdentity(stored, await handle.stat({ bigint: true }));
    const buffer = Buffer.allocUnsafeSlow(Math.min(PIECE, to - at));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, at);
    if (bytesRead === 0) throw new FileGoneError(`${file.path} was shortened.`);
    yield buffer.subarray(0, bytesRead);
    at += bytesRead;
  }
}

function checkIdentity({ file, identity }: StoredFile, found: BigIntStats | undefined): void {
  if (found === undefined) throw new FileGoneError(`${file.path} no longer exists.`);
  if (identityIn(found, file.sha256) === identity) return;
  throw new FileGoneError(`${file.path} was replaced since it was checked.`);
}
