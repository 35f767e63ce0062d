/**
 * A remote store in a folder: a mounted disk, or the folder of a static web server. An object is
 * written under another name, synced and renamed, so that a reader never sees a part of one.
 *
 * The folder must exist, because a missing one is probably a disk that is not mounted. New files and
 * folders get the same permissions as in a snapshots folder (`generations/files/file-modes.ts`).
 */
import { randomBytes } from 'node:crypto';
import { closeSync, constants, existsSync, fsync, renameSync, rmSync, writeSync } from 'node:fs';
import { type FileHandle, open, readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { UNFINISHED_PREFIX } from '../../format/layout.ts';
import { makeFolder, openForWriting } from '../../generations/files/file-modes.ts';
import { syncFolder } from '../../generations/files/replace-file.ts';
import { messageOf } from '../../program/failure.ts';
import { TransferError } from '../transfer/try-again.ts';
import { checkObjectPath, checkPrefix } from './object-path.ts';
import type { Content, GetOptions, RemoteObject, RemoteReply, RemoteStore } from './remote.ts';

const CHUNK_BYTES = 256 * 1024;
const fsyncAsync = promisify(fsync);

/** @throws Error if the folder does not exist */
export function openFolderStore(folder: string): RemoteStore {
  const root = path.resolve(folder);
  const counts = { requests: 0, received: 0, sent: 0 };
  const closed = new AbortController();
  const missingRoot = () =>
    new TransferError(`${root} does not exist. Create it, or mount the disk that holds it.`);
  if (!existsSync(root)) throw new Error(missingRoot().message);

  async function* read(handle: FileHandle, from: number, size: number, signal: AbortSignal) {
    try {
      for (let position = from; position < size; ) {
        signal.throwIfAborted();
        const { buffer, bytesRead } = await handle.read({
          buffer: Buffer.allocUnsafe(Math.min(CHUNK_BYTES, size - position)),
          position,
        });
        if (bytesRead === 0) throw new TransferError('the file has become shorter');
        position += bytesRead;
        counts.received += bytesRead;
        yield buffer.subarray(0, bytesRead);
      }
    } finally {
      await handle.close();
    }
  }

  async function get(name: string, options: GetOptions = {}): Promise<RemoteReply> {
    checkObjectPath(name);
    const signal = AbortSignal.any([closed.signal, options.signal ?? closed.signal]);
    signal.throwIfAborted();
    counts.requests++;
    const handle = await openObject(path.join(root, name));
    if (handle === undefined) {
      if (!existsSync(root)) throw missingRoot();
      return { status: 'missing' };
    }
    const stats = await handle.stat({ bigint: true });
    const etag = `${stats.ino}-${stats.size}-${stats.mtimeNs}`;
    const size = Number(stats.size);
    if (!stats.isFile() || etag === options.etag) {
      await handle.close();
      return { status: stats.isFile() ? 'unchanged' : 'missing' };
    }
    const { offset: wanted = 0 } = options;
    const offset = wanted < size ? wanted : 0;
    const drop = () => void handle.close().catch(() => {});
    return { status: 'found', etag, size, offset, bytes: read(handle, offset, size, signal), drop };
  }

  async function* countSent(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const piece of pieces) {
      closed.signal.throwIfAborted();
      yield piece;
      counts.sent += piece.length;
    }
  }

  async function put(name: string, content: Content): Promise<void> {
    checkObjectPath(name);
    closed.signal.throwIfAborted();
    counts.requests++;
    const target = path.join(root, name);
    const dir = path.dirname(target);
    const next = path.join(dir, `${UNFINISHED_PREFIX}${randomBytes(8).toString('hex')}`);
    try {
      makeFolders(root, path.dirname(name));
      await writeSynced(next, countSent(content.open()));
      renameSync(next, target);
      syncFolder(dir);
    } catch (cause) {
      rmSync(next, { force: true });
      throw new Error(`write ${target}: ${messageOf(cause)}`, { cause });
    }
  }

  /** Every file below a folder of the store, with the names of unfinished ones. */
  async function walk(folderName: string): Promise<RemoteObject[]> {
    counts.requests++;
    const entries = await readdir(path.join(root, folderName), {
      withFileTypes: true,
      recursive: true,
    }).catch((cause) => {
      if (!existsSync(root)) throw missingRoot();
      if (isMissing(cause)) return [];
      throw cause;
    });
    const files = entries.filter((entry) => entry.isFile());
    return describe(
      root,
      files.map((entry) => path.join(entry.parentPath, entry.name)),
    );
  }

  return {
    name: root,
    isWritable: true,
    get,
    put,
    async list(prefix) {
      checkPrefix(prefix);
      const objects = await walk(prefix.slice(0, prefix.lastIndexOf('/') + 1));
      return objects
        .filter((object) => object.path.startsWith(prefix) && !/(?:^|\/)\./.test(object.path))
        .sort((a, b) => (a.path < b.path ? -1 : 1));
    },
    async remove(name) {
      checkObjectPath(name);
      counts.requests++;
      await rm(path.join(root, name), { force: true });
    },
    async removeUnfinished(before) {
      for (const { path: name, modifiedAt } of await walk('')) {
        const isUnfinished = path.basename(name).startsWith(UNFINISHED_PREFIX);
        if (isUnfinished && modifiedAt < before) await rm(path.join(root, name), { force: true });
      }
    },
    traffic: () => ({ ...counts }),
    close: () => closed.abort(new Error(`${root} was closed.`)),
  };
}

/** Writes a file that does not exist, and syncs it. */
async function writeSynced(file: string, pieces: AsyncIterable<Buffer>): Promise<void> {
  const descriptor = openForWriting(file, 'wx');
  try {
    for await (const piece of pieces) {
      for (let done = 0; done < piece.length; ) done += writeSync(descriptor, piece, done);
    }
    await fsyncAsync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** The objects in files of a store. Leaves out files that another process has removed since. */
async function describe(root: string, files: readonly string[]): Promise<RemoteObject[]> {
  const objects: RemoteObject[] = [];
  for (const file of files) {
    const stats = await stat(file).catch(() => undefined);
    if (stats === undefined) continue;
    const name = path.relative(root, file).split(path.sep).join('/');
    objects.push({ path: name, size: stats.size, modifiedAt: stats.mtime });
  }
  return objects;
}

/** @returns undefined if there is no such file */
async function openObject(file: string): Promise<FileHandle | undefined> {
  try {
    // Without O_NONBLOCK, opening a named pipe would wait for a writer.
    return await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
}

/** Creates the folders of a relative path, one below the other, unless they exist. */
function makeFolders(root: string, relative: string): void {
  if (relative === '.' || existsSync(path.join(root, relative))) return;
  makeFolders(root, path.dirname(relative));
  const folder = path.join(root, relative);
  makeFolder(folder);
  syncFolder(path.dirname(folder));
}
