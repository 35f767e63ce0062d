/** For tests of permissions in a snapshots folder: a catalogue with a key, and the modes of all files. */
import { chmodSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { REPORT } from '#lib/format/layout.ts';
import { makeSampleSqlite } from '#test/catalogue/snapshots.ts';
import { change } from '#test/support/databases.ts';
import { runKeys } from '#test/support/product.ts';

/** A database with one key, which everybody may read and write. */
export async function makeSite() {
  const url = await makeSampleSqlite();
  const key = (await runKeys(url, ['issue'])).stdout.trim();
  const folder = path.dirname(url.slice('sqlite:'.length));
  for (const name of listAll(folder)) chmodSync(path.join(folder, name), 0o777);
  const first = '(SELECT MIN(id) FROM games)';
  const changeTitle = () => change(url, `UPDATE games SET title = 'Another' WHERE id = ${first}`);
  return { url, key, changeTitle };
}

/** Every file and folder under a folder, itself included, by relative path. Links are left out. */
export function listAll(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const inside = entries
    .filter((entry) => !entry.isSymbolicLink())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)));
  return ['.', ...inside];
}

export const modeOf = (file: string) => (statSync(file).mode & 0o7777).toString(8);

/**
 * The distinct modes of all files, and of all folders except the outermost. The report of a run and
 * the id of the holder of the lock are left out, because they are always private.
 */
export function modesOf(folder: string): { files: string[]; folders: string[] } {
  const files = new Set<string>();
  const folders = new Set<string>();
  for (const name of listAll(folder)) {
    const file = path.join(folder, name);
    if (name === REPORT || name === 'lock.holder') expect(modeOf(file)).toBe('600');
    else if (!statSync(file).isDirectory()) files.add(modeOf(file));
    else if (name !== '.') folders.add(modeOf(file));
  }
  return { files: [...files], folders: [...folders] };
}

export const SHARED = { files: ['640'], folders: ['2750'] };
