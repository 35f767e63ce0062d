/** For tests of permissions in a snapshots folder: a catalogue with a key, and the modes of all files. */
import { chmodSync, lstatSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { REPORT } from '../../../format/layout.ts';
import { makeSampleSqlite } from '../../catalogue/snapshots.ts';
import { change } from '../../support/databases.ts';
import { runKeys } from '../../support/product.ts';

/** A database with one key, readable for everybody. */
export async function makeSite() {
  const url = await makeSampleSqlite();
  const key = (await runKeys(url, ['issue'])).stdout.trim();
  const file = url.slice('sqlite:'.length);
  chmodSync(path.dirname(file), 0o777);
  for (const name of readdirSync(path.dirname(file))) {
    chmodSync(path.join(path.dirname(file), name), 0o666);
  }
  const first = '(SELECT MIN(id) FROM games)';
  const changeTitle = () => change(url, `UPDATE games SET title = 'Another' WHERE id = ${first}`);
  return { url, key, changeTitle };
}

/** Every file and folder under a folder, itself included, by relative path. Links are left out. */
export function listAll(folder: string, name = '.'): string[] {
  const stats = lstatSync(path.join(folder, name));
  if (stats.isSymbolicLink()) return [];
  if (!stats.isDirectory()) return [name];
  const names = readdirSync(path.join(folder, name));
  return [name, ...names.flatMap((inside) => listAll(folder, path.join(name, inside)))];
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
