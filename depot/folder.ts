/**
 * A depot in a folder: a mounted disk, or the folder of a static web server. An object is written under
 * another name, synced and renamed, so that a reader never sees a part of one.
 *
 * The folder must exist, because a missing one is probably a disk that is not mounted. New files and
 * folders get the same permissions as in a snapshots folder (`generations/files/file-modes.ts`). Symbolic
 * links inside it are refused: another machine may have made them.
 */
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsync,
  read,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { UNFINISHED } from '../format/release.ts';
import { makeFolder, openForWriting } from '../generations/files/file-modes.ts';
import { syncFolder } from '../generations/files/replace-file.ts';
import { messageOf } from '../program/failure.ts';
import { NO_LINK, openRegularFile } from '../program/files/bounded-file.ts';
import { checkObjectPath, isObjectPath, type StoredObject, type WritableDepot } from './depot.ts';

const CHUNK_BYTES = 256 * 1024;
const fsyncAsync = promisify(fsync);
const readAsync = promisify(read);

export function openFolderDepot(folder: string): WritableDepot {
  const root = path.resolve(folder);
  const closed = new AbortController();

  /** The file of an object. @throws Error if the folder is missing, or if a link is in the way */
  function fileOf(name: string): string {
    closed.signal.throwIfAborted();
    checkObjectPath(name);
    if (!existsSync(root)) {
      throw new Error(`${root} does not exist. Create it, or mount the disk that holds it.`);
    }
    const file = path.join(root, name);
    const dir = path.dirname(file);
    const expected = path.join(realpathSync(root), path.dirname(name));
    if (!existsSync(dir) || realpathSync(dir) === expected) return file;
    throw new Error(`${dir} is a symbolic link, which a depot must not have. Remove it.`);
  }

  async function* bytesOf(descriptor: number, signal = closed.signal): AsyncGenerator<Buffer> {
    try {
      for (;;) {
        signal.throwIfAborted();
        const { buffer, bytesRead } = await readAsync(descriptor, {
          buffer: Buffer.allocUnsafe(CHUNK_BYTES),
        });
        if (bytesRead === 0) return;
        yield buffer.subarray(0, bytesRead);
      }
    } finally {
      closeSync(descriptor);
    }
  }

  return {
    name: root,
    async get(name, { etag: known, signal } = {}) {
      const file = fileOf(name);
      const stats = statSync(file, { bigint: true, throwIfNoEntry: false });
      if (stats === undefined) return 'missing';
      const etag = `${stats.ino}-${stats.size}-${stats.mtimeNs}`;
      if (etag === known) return 'unchanged';
      let descriptor: number;
      try {
        descriptor = openRegularFile(file, NO_LINK);
      } catch (cause) {
        const { code } = cause as NodeJS.ErrnoException;
        if (code === 'ENOENT') return 'missing';
        const fault = code === 'ELOOP' ? 'it is a symbolic link' : messageOf(cause);
        throw new Error(`${file} cannot be read: ${fault}`, { cause });
      }
      const coding = name.endsWith('.zst') ? 'zstd' : undefined;
      return { etag, coding, bytes: bytesOf(descriptor, signal) };
    },
    async put(name, bytes) {
      const target = fileOf(name);
      const next = path.join(root, UNFINISHED, randomBytes(8).toString('hex'));
      try {
        for (const file of [next, target]) makeFolders(root, path.dirname(file));
        await writeSynced(next, bytes);
        renameSync(next, target);
        syncFolder(path.dirname(target));
      } catch (cause) {
        rmSync(next, { force: true });
        throw new Error(`write ${target}: ${messageOf(cause)}`, { cause });
      }
    },
    async list(prefix) {
      const folderName = prefix.replace(/\/$/, '');
      const top = fileOf(folderName);
      if (!existsSync(top)) return [];
      return readdirSync(top, { withFileTypes: true, recursive: true }).flatMap((entry) => {
        const file = path.join(entry.parentPath, entry.name);
        const name = path.relative(root, file).split(path.sep).join('/');
        return entry.isFile() && isObjectPath(name) ? describe(name, file) : [];
      });
    },
    async remove(name) {
      rmSync(fileOf(name), { force: true });
    },
    close: () => closed.abort(new Error(`${root} was closed.`)),
  };
}

/** @returns nothing if another process has removed the file since it was listed */
function describe(name: string, file: string): StoredObject[] {
  const stats = statSync(file, { throwIfNoEntry: false });
  return stats === undefined ? [] : [{ path: name, size: stats.size, modifiedAt: stats.mtime }];
}

/** Writes a file that does not exist, and syncs it. */
async function writeSynced(file: string, bytes: Buffer): Promise<void> {
  const descriptor = openForWriting(file, 'wx');
  try {
    for (let done = 0; done < bytes.length; ) done += writeSync(descriptor, bytes, done);
    await fsyncAsync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Creates the folders between the root and a folder in it, one below the other, unless they exist. */
function makeFolders(root: string, folder: string): void {
  if (folder === root || existsSync(folder)) return;
  makeFolders(root, path.dirname(folder));
  makeFolder(folder);
  syncFolder(path.dirname(folder));
}
