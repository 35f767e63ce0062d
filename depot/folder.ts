/**
 * A depot in a folder: a mounted disk, or the folder of a static web server. An object is written under
 * another name, synced and renamed, so that a reader never sees a part of one.
 *
 * The folder must exist, because a missing one is probably a disk that is not mounted. New files and
 * folders get the same permissions as in a snapshots folder (`lib/generations/files/file-modes.ts`). Symbolic
 * links inside it are refused: another machine may have made them.
 */
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  createReadStream,
  existsSync,
  lstatSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFile,
} from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { UNFINISHED } from '../lib/format/release.ts';
import { makeFolder, openForWriting } from '../lib/generations/files/file-modes.ts';
import { syncFolder } from '../lib/generations/files/replace-file.ts';
import { messageOf } from '../lib/program/failure.ts';
import { NO_LINK, openRegularFile } from '../lib/program/files/bounded-file.ts';
import { checkPath, codingOf, isObjectPath, type WritableDepot } from './depot.ts';

const CHUNK_BYTES = 256 * 1024;
const writeFileAsync = promisify(writeFile);

export function openFolderDepot(folder: string): WritableDepot {
  const root = path.resolve(folder);

  /** The file of an object. @throws Error if the folder is missing, or if a link is in the way */
  function fileOf(name: string): string {
    const file = path.join(root, checkPath(name));
    if (!existsSync(root)) {
      throw new Error(`${root} does not exist. Create it, or mount the disk that holds it.`);
    }
    for (let dir = path.dirname(file); dir !== root; dir = path.dirname(dir)) {
      if (!lstatSync(dir, { throwIfNoEntry: false })?.isSymbolicLink()) continue;
      throw new Error(`${dir} is a symbolic link, which a depot must not have. Remove it.`);
    }
    return file;
  }

  return {
    name: root,
    async get(name) {
      const fd = openObject(fileOf(name));
      return fd === undefined ? undefined : { coding: codingOf(name), bytes: bytesOf(fd) };
    },
    async put(name, bytes) {
      const target = fileOf(name);
      const next = path.join(root, UNFINISHED, randomBytes(8).toString('hex'));
      try {
        for (const file of [next, target]) makeFolders(root, path.dirname(file));
        const fd = openForWriting(next, 'wx');
        await writeFileAsync(fd, bytes, { flush: true }).finally(() => closeSync(fd));
        renameSync(next, target);
        syncFolder(path.dirname(target));
      } catch (cause) {
        rmSync(next, { force: true });
        throw new Error(`write ${target}: ${messageOf(cause)}`, { cause });
      }
    },
    async list(prefix) {
      const top = fileOf(prefix.replace(/\/$/, ''));
      if (!existsSync(top)) return [];
      return readdirSync(top, { withFileTypes: true, recursive: true }).flatMap((entry) => {
        const file = path.join(entry.parentPath, entry.name);
        const name = path.relative(root, file);
        if (!entry.isFile() || !isObjectPath(name)) return [];
        // Another process may have removed the file since it was listed.
        const stats = statSync(file, { throwIfNoEntry: false });
        return stats ? [{ path: name, size: stats.size, modifiedAt: stats.mtimeMs }] : [];
      });
    },
    async remove(name) {
      rmSync(fileOf(name), { force: true });
    },
    close() {},
  };
}

/** @returns the descriptor of an open file; undefined if there is no file */
function openObject(file: string): number | undefined {
  try {
    return openRegularFile(file, NO_LINK);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    const fault = code === 'ELOOP' ? 'it is a symbolic link' : messageOf(cause);
    throw new Error(`${file} cannot be read: ${fault}`, { cause });
  }
}

/** Closes the file at its end. The stream is made when it is read: nobody listens to its errors before. */
async function* bytesOf(fd: number): AsyncGenerator<Buffer> {
  yield* createReadStream('', { fd, highWaterMark: CHUNK_BYTES });
}

/** Creates the folders between the root and a folder in it, one below the other, unless they exist. */
function makeFolders(root: string, folder: string): void {
  if (folder === root || existsSync(folder)) return;
  makeFolders(root, path.dirname(folder));
  makeFolder(folder);
  syncFolder(path.dirname(folder));
}
