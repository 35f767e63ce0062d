/**
 * Checks the folders that variables name, for `readEnvironment`. The message of an error continues a
 * sentence that begins with the name of the variable. No check creates a folder.
 */
import { accessSync, constants, existsSync, statSync } from 'node:fs';
import path from 'node:path';

const { R_OK, W_OK, X_OK } = constants;
const FIX =
  'Correct the path, which may be relative to the working directory, or the owner and mode.';

/**
 * Checks a folder that the program writes into. A missing folder is created later, so the closest
 * existing folder above it must be writable.
 */
export function checkWritableFolder(folder: string): void {
  checkAccess(path.resolve(folder), closestExisting(folder), W_OK | X_OK);
}

/**
 * Checks a folder that the program only reads. The folder need not exist, because another program may
 * create it later. The folder above it must exist: otherwise the path is probably wrong.
 */
export function checkReadableFolder(folder: string): void {
  const wanted = path.resolve(folder);
  if (existsSync(wanted)) checkAccess(wanted, wanted, R_OK | X_OK);
  else checkAccess(wanted, path.dirname(wanted), X_OK);
}

function checkAccess(wanted: string, existing: string, mode: number): void {
  try {
    if (!statSync(existing).isDirectory()) throw new Error(`${existing} is not a folder`);
    accessSync(existing, mode);
  } catch (cause) {
    throw new Error(`is ${wanted}: ${(cause as Error).message}. ${FIX}`, { cause });
  }
}

/** The folder itself, or the closest one above it that exists and may be looked at. */
export function closestExisting(folder: string): string {
  let existing = path.resolve(folder);
  while (!existsSync(existing)) existing = path.dirname(existing);
  return existing;
}
