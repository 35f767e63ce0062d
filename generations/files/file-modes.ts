/**
 * Permissions of the files and folders that the product creates in a snapshots folder. By default only
 * the owner may read them: files get mode 0600, folders 0700. A folder with the setgid bit is shared.
 * The group that may read and search the shared folder may also read and search what is created in it,
 * but never write; new folders in it get the setgid bit too. Invariant: the umask has no effect.
 */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  fchmodSync,
  fstatSync,
  linkSync,
  mkdirSync,
  openSync,
  statSync,
} from 'node:fs';
import path from 'node:path';

/** The bits of a mode without the file type. */
const PERMISSIONS = 0o7777;
const SETGID = 0o2000;
const GROUP_READS_AND_SEARCHES = 0o050;
const GROUP_READS = 0o040;

/** The permissions of new files and folders in one folder. */
export interface Modes {
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
  correctOpenMode(descriptor, mode);
  return descriptor;
}

/**
 * Gives a file that was just opened the mode that was passed to open(2): the umask may have removed
 * permissions, or the file may have existed before, with another mode.
 */
export function correctOpenMode(descriptor: number, mode: number): void {
  if ((fstatSync(descriptor).mode & PERMISSIONS) === mode) return;
  whereSupported(() => fchmodSync(descriptor, mode));
}

/** Gives an existing file the mode of new files in its folder. */
export function correctMode(file: string): void {
  setMode(file, modesIn(path.dirname(file)).file);
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
  setMode(folder, mode);
}

function setMode(file: string, mode: number): void {
  if ((statSync(file).mode & PERMISSIONS) !== mode) whereSupported(() => chmodSync(file, mode));
}

/** Changes permissions, except on file systems such as FAT, where the mount options set them. */
function whereSupported(change: () => void): void {
  try {
    change();
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP'].includes(code)) throw error;
  }
}

/**
 * Creates a snapshots folder, unless it exists. Only its owner may use it, even if the folder above is
 * shared: an operator who wants to share a snapshots folder creates it beforehand.
 */
export function makeSnapshotsFolder(snapshotsDir: string): void {
  makeMissing(path.resolve(snapshotsDir));
}

// Creates one folder at a time. With `recursive`, `mkdirSync` never returns on a file system such as
// /proc, which refuses a new folder with the error for a missing parent.
function makeMissing(folder: string): void {
  if (existsSync(folder)) return;
  makeMissing(path.dirname(folder));
  try {
    mkdirSync(folder, 0o700);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    // Another program has just created the folder. A dangling symbolic link also causes EEXIST, but
    // `existsSync` is false for it.
    if (code === 'EEXIST' && existsSync(folder)) return;
    throw new Error(`The folder ${folder} cannot be created: ${message}. Set another folder.`, {
      cause,
    });
  }
}

/** Whether a file or folder has the wanted mode and, if it is shared, the right group. */
export function hasModes(
  { mode, gid }: { readonly mode: number; readonly gid: number },
  wanted: number,
  { group }: Modes,
): boolean {
  return (mode & PERMISSIONS) === wanted && (group === undefined || gid === group);
}

/**
 * Puts a file into a generation that is being built: as a hard link, or as a copy where links are not
 * supported or the file has other permissions than new files get.
 */
export function place(file: string, target: string): void {
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
  correctMode(target);
}
