/**
 * Permissions of the files and folders that the product creates in a snapshots folder. By default only
 * the owner may read them: files get mode 0600, folders 0700. A folder with the setgid bit is shared.
 * The group that may read and search the shared folder may also read and search what is created in it,
 * but never write; new folders in it get the setgid bit too. Invariant: the umask has no effect.
 */
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  fchmodSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { withFile } from '../../program/files/bounded-file.ts';

/** The bits of a mode without the file type. */
const PERMISSIONS = 0o7777;
const SETGID = 0o2000;
const GROUP_READS_AND_SEARCHES = 0o050;
const GROUP_READS = 0o040;

/** The permissions of new files and folders in one folder. */
interface Modes {
  readonly file: number;
  readonly folder: number;
  /** The group that may read them; undefined if only the owner may. */
  readonly group: number | undefined;
}

/** The modes of new files and folders in an existing folder. */
export function modesIn(folder: string): Modes {
  const { mode, gid } = statSync(folder);
  if ((mode & SETGID) === 0) return { file: 0o600, folder: 0o700, group: undefined };
  return {
    file: 0o600 | (mode & GROUP_READS),
    folder: SETGID | 0o700 | (mode & GROUP_READS_AND_SEARCHES),
    group: gid,
  };
}

/**
 * Opens a file for writing. With all flags, a missing file is created.
 * @param mode of the file; by default the mode of new files in its folder
 */
export function openForWriting(
  file: string,
  flags: 'w' | 'wx' | 'a',
  mode = modesIn(path.dirname(file)).file,
): number {
  const descriptor = openSync(file, flags, mode);
  // The umask may have removed permissions, or the file may have existed before, with another mode.
  fchmodSync(descriptor, mode);
  return descriptor;
}

/** What is written into a file, whole or in pieces. */
export type Content = string | Uint8Array | readonly Uint8Array[];

/** Writes a file that does not exist, and syncs it. @param options.mode as for {@link openForWriting} */
export function writeNewFile(
  file: string,
  content: Content,
  {
    mode,
    isSynced = true,
  }: { readonly mode?: number | undefined; readonly isSynced?: boolean } = {},
): void {
  withFile(openForWriting(file, 'wx', mode), (descriptor) => {
    const pieces = Array.isArray(content) ? content : [content];
    for (const piece of pieces) writeFileSync(descriptor, piece);
    if (isSynced) fsyncSync(descriptor);
  });
}

/** Creates a folder, unless it exists, with the mode of new folders in its parent. */
export function makeFolder(folder: string): void {
  const { folder: mode } = modesIn(path.dirname(folder));
  try {
    // Without the setgid bit, which a sandbox may forbid and Linux ignores here: the parent's is inherited.
    mkdirSync(folder, mode & ~SETGID);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return;
    throw error;
  }
  if ((statSync(folder).mode & PERMISSIONS) !== mode) chmodSync(folder, mode);
}

/** Gives an existing folder the permissions of new ones: the folder above may have been shared since. */
export function correctFolder(folder: string): void {
  const modes = modesIn(path.dirname(folder));
  if (hasModes(statSync(folder), modes.folder, modes)) return;
  if (modes.group !== undefined) chownSync(folder, -1, modes.group);
  chmodSync(folder, modes.folder);
}

/**
 * Creates a snapshots folder, unless it exists. Only its owner may use it, even if the folder above is
 * shared: an operator who wants to share a snapshots folder creates it beforehand.
 */
export function makeSnapshotsFolder(snapshotsDir: string): void {
  if (existsSync(snapshotsDir)) return;
  // One folder at a time: with `recursive`, `mkdirSync` never returns on a file system such as /proc,
  // which refuses a new folder with the error for a missing parent.
  makeSnapshotsFolder(path.dirname(path.resolve(snapshotsDir)));
  try {
    mkdirSync(snapshotsDir, 0o700);
  } catch (cause) {
    // Another program may have just created it.
    if (existsSync(snapshotsDir)) return;
    const { message } = cause as Error;
    const fault = `The folder ${snapshotsDir} cannot be created: ${message}. Set another folder.`;
    throw new Error(fault, { cause });
  }
}

/** Whether a file has the wanted mode and, if it is shared, the right group. */
export function hasModes(
  { mode, gid }: { readonly mode: number; readonly gid: number },
  wanted: number,
  { group }: Modes,
): boolean {
  return (mode & PERMISSIONS) === wanted && (group === undefined || gid === group);
}

/**
 * Puts a file into a generation that is being built: as a hard link, or as a synced copy where links are
 * not supported or the file has other permissions than new files get.
 */
export function linkOrCopy(file: string, target: string): void {
  const modes = modesIn(path.dirname(target));
  if (hasModes(statSync(file), modes.file, modes)) {
    try {
      linkSync(file, target);
      return;
    } catch {
      // A file system without hard links, or a file with as many links as it can have.
    }
  }
  copyFileSync(file, target);
  withFile(openForWriting(target, 'a', modes.file), fsyncSync);
}
