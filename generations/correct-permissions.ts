/**
 * Gives existing generations and differences the permissions that new ones get: an operator may have
 * shared the snapshots folder since they were written, or an older version may have let everybody read
 * them. The content of a generation does not change.
 */
import { chmodSync, chownSync, existsSync, lstatSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { CHANGES, GENERATIONS } from '../format/layout.ts';
import { hasModes, type Modes, modesIn } from './files/file-modes.ts';

/** @returns a warning, with the fix, if some permissions could not be changed; otherwise undefined */
export function correctPermissions(snapshotsDir: string): string | undefined {
  const modes = modesIn(snapshotsDir);
  const unchanged: string[] = [];
  const folders = [GENERATIONS, CHANGES]
    .map((name) => path.join(snapshotsDir, name))
    .filter(existsSync);
  for (const folder of folders) correct(folder, modes, unchanged);
  if (unchanged.length === 0) return undefined;
  const group = modes.group === undefined ? '' : ` and must be a member of group ${modes.group}`;
  return `${unchanged.length} files and folders, such as ${unchanged[0]}, keep the permissions of an earlier run. Run as root: chown -R USER ${folders.join(' ')}, where USER runs the generator${group}.`;
}

function correct(file: string, modes: Modes, unchanged: string[]): void {
  const stats = lstatSync(file);
  if (stats.isSymbolicLink()) return;
  const isFolder = stats.isDirectory();
  const wanted = isFolder ? modes.folder : modes.file;
  if (!hasModes(stats, wanted, modes)) {
    try {
      if (modes.group !== undefined) chownSync(file, -1, modes.group);
      chmodSync(file, wanted);
    } catch {
      // The owner's attempt fails only on a file system without modes, where no warning is needed, or
      // because the owner is not in the group.
      const isOwn = stats.uid === process.getuid?.();
      if (!isOwn || modes.group !== undefined) unchanged.push(file);
    }
  }
  if (!isFolder) return;
  for (const name of readNames(file)) correct(path.join(file, name), modes, unchanged);
}

function readNames(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    // The folder belongs to another user; the caller has added it to `unchanged`.
    return [];
  }
}
