/**
 * Checks the folders that variables name, for `readEnvironment`. The message of an error continues a
 * sentence that begins with the name of the variable, and gives the fix. No check creates a folder.
 */
import { accessSync, constants, type Stats, statSync } from 'node:fs';
import path from 'node:path';

const { R_OK, W_OK, X_OK } = constants;

/**
 * Checks a folder that the program writes into. A missing folder is created later, so the closest
 * existing folder above it must be writable.
 */
export function checkWritableFolder(folder: string): void {
  checkRights(path.resolve(folder), W_OK | X_OK, W_OK | X_OK, 'write into');
}

/**
 * Checks a folder that the program only reads. The folder need not exist, because another program may
 * create it later. The folder above it must exist: otherwise the path is probably wrong.
 */
export function checkReadableFolder(folder: string): void {
  const wanted = path.resolve(folder);
  const above = path.dirname(wanted);
  const existing = checkRights(wanted, R_OK | X_OK, X_OK, 'read');
  if (existing !== wanted && existing !== above) {
    throw new Error(`is ${wanted}, which does not exist; nor does ${above}. ${CORRECT}`);
  }
}

/** Whether a folder does not exist yet. */
export function isMissing(folder: string): boolean {
  const wanted = path.resolve(folder);
  return closestExisting(wanted).existing !== wanted;
}

const CORRECT = 'Correct the path; a relative one starts at the working directory.';

/**
 * @param mode the rights needed on the folder itself
 * @param modeAbove the rights needed on the closest folder above it, if the folder does not exist
 * @returns the folder that was checked
 */
function checkRights(wanted: string, mode: number, modeAbove: number, action: string): string {
  const { existing, stats } = closestExisting(wanted);
  const which = existing === wanted ? 'which' : `and ${existing}`;
  if (!stats.isDirectory()) throw new Error(`is ${wanted}, ${which} is not a folder. ${CORRECT}`);
  try {
    accessSync(existing, existing === wanted ? mode : modeAbove);
    return existing;
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const uid = process.geteuid?.() ?? 'unknown';
    const why =
      code === 'EROFS'
        ? `${which} is on a read-only file system. Set another folder.`
        : `${which} the user of this program (id ${uid}) may not ${action}. Change its owner or mode, or set another folder.`;
    throw new Error(`is ${wanted}, ${why}`, { cause });
  }
}

/** The path itself, or the closest path above it that exists. */
function closestExisting(wanted: string): { existing: string; stats: Stats } {
  for (let existing = wanted; ; existing = path.dirname(existing)) {
    try {
      return { existing, stats: statSync(existing) };
    } catch (cause) {
      const { code, message } = cause as NodeJS.ErrnoException;
      // The user may not enter the folder above. The next round finds it, and the error will name it.
      if (code === 'EACCES') continue;
      if (code !== 'ENOENT' && code !== 'ENOTDIR') {
        throw new Error(`is ${wanted}, which cannot be used: ${message}.`, { cause });
      }
    }
  }
}
