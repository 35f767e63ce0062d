/**
 * Explains to an operator why a file or folder cannot be used. If a permission is missing, the text
 * gives the mode and the owner of the file or folder that denies access, and the fix. The text contains
 * paths, so it must never reach clients.
 */
import type { Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';

const FIX = 'See "Users and file permissions" in OPERATIONS.md.';

/** Explains the error of an attempt to read `file`. */
export async function explainUnreadable(error: unknown, file: string): Promise<Error> {
  const { code, message } = error as NodeJS.ErrnoException;
  const name = path.basename(file);
  if (code === 'ENOENT') {
    return new Error(`There is no ${name} in ${path.dirname(file)}.`, { cause: error });
  }
  if (code === undefined) return error as Error;
  const why = isDenial(error) ? await explainDenial(file) : `${message}.`;
  return new Error(`${name} cannot be read: ${why}`, { cause: error });
}

/** Explains an error that a missing permission caused. Returns any other error unchanged. */
export async function explainDenied(error: unknown): Promise<Error> {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { path: file } = cause as NodeJS.ErrnoException;
    if (!isDenial(cause) || file === undefined) continue;
    return new Error(`${file} cannot be read: ${await explainDenial(file)}`, { cause: error });
  }
  return error as Error;
}

/** Explains the error of an attempt to create `folder` or to write into it. */
export async function explainUnwritable(error: unknown, folder: string): Promise<Error> {
  const why = isDenial(error) ? await explainDenial(folder) : `${(error as Error).message}. ${FIX}`;
  return new Error(`Cannot write to ${folder}: ${why}`, { cause: error });
}

function isDenial(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'EACCES' || code === 'EPERM';
}

/** Describes what denies access: the file, or the closest folder above it whose mode can be read. */
async function explainDenial(file: string): Promise<string> {
  for (let target = path.resolve(file); ; target = path.dirname(target)) {
    const found = await stat(target).catch(() => undefined);
    if (found !== undefined) return `permission denied. ${target} has ${describe(found)}. ${FIX}`;
    if (target === path.dirname(target)) return 'permission denied.';
  }
}

function describe({ mode, uid, gid }: Stats): string {
  const own = `uid ${process.geteuid?.()} and gid ${process.getegid?.()}`;
  const bits = (mode & 0o7777).toString(8).padStart(4, '0');
  return `mode ${bits} and belongs to uid ${uid} and gid ${gid}; this program runs as ${own}`;
}
