/**
 * Permissions of what the product creates in a snapshots folder. By default only the owner may read
 * it: files get mode 0600 and folders 0700. A folder with the setgid bit is shared: its group gets the
 * same read and search permission for what is created in it, never write permission, and folders pass
 * the bit on. Invariant: the umask neither adds permissions nor takes them away.
 */
import {
  chmodSync,
  existsSync,
  fchmodSync,
  fstatSync,
  mkdirSync,
  openSync,
  statSync,
} from 'node:fs';
import path from 'node:path';

/** Without the file type. */
const PERMISSIONS = 0o7777;
const SETGID = 0o2000;
const GROUP_READS_AND_SEARCHES = 0o050;
const GROUP_READS = 0o040;

/** The permissions of files and folders that are created in one folder. */
export interface Modes {
  readonly file: number;
  readonly folder: number;
  /** The group that may read them; undefined: only their owner may. */
  readonly group: number | undefined;
}

/** The modes of what is created in an existing folder. */
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
 * Opens a file for writing, and creates it if it does not exist.
 * @param mode of the file; by default what its folder gives to files
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
 * Gives a file that was just opened the mode that it was opened with: the umask may have removed
 * permissions, or the file may have existed with another mode.
 */
export function correctOpenMode(descriptor: number, mode: number): void {
  if ((fstatSync(descriptor).mode & PERMISSIONS) === mode) return;
  whereSupported(() => fchmodSync(descriptor, mode));
}

/** Gives a file the mode that it would be created with. */
export function correctMode(file: string): void {
  setMode(file, modesIn(path.dirname(file)).file);
}

/** Creates a folder, unless it exists, with the mode that its parent gives to folders. */
export function makeFolder(folder: string): void {
  const { folder: mode } = modesIn(path.dirname(folder));
  try {
    mkdirSync(folder, mode);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return;
    throw error;
  }
  setMode(folder, mode);
}

function setMode(file: string, mode: number): void {
  if ((statSync(file).mode & PERMISSIONS) !== mode) whereSupported(() => chmodSync(file, mode));
}

/** Changes permissions, except on file systems such as FAT, where the mount sets them all. */
function whereSupported(change: () => void): void {
  try {
    change();
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP'].includes(code)) throw error;
  }
}

/**
 * Creates a snapshots folder, unless it exists, for its owner alone, whatever folder it is in. To
 * share one, the operator creates it.
 */
export function makeSnapshotsFolder(snapshotsDir: string): void {
  makeMissing(path.resolve(snapshotsDir));
}

// One at a time: with `recursive`, Node never returns in a file system such as /proc, which refuses a
// new folder as if the one above it were missing.
function makeMissing(folder: string): void {
  if (existsSync(folder)) return;
  makeMissing(path.dirname(folder));
  try {
    mkdirSync(folder, 0o700);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    // Another program has just created it. A symbolic link to nothing also exists, but cannot be used.
    if (code === 'EEXIST' && existsSync(folder)) return;
    throw new Error(`The folder ${folder} cannot be created: ${message}. Set another folder.`, {
      cause,
    });
  }
}

/** Whether a file or folder has the permissions that it would be created with. */
export function hasModes(
  { mode, gid }: { readonly mode: number; readonly gid: number },
  wanted: number,
  { group }: Modes,
): boolean {
  return (mode & PERMISSIONS) === wanted && (group === undefined || gid === group);
}
