/**
 * For tests of permissions in a snapshots folder: two users, a catalogue with a key, and the modes of
 * all files in a folder.
 */
import { chmodSync, lstatSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { openDatabase } from '../../../database/open.ts';
import { hashKey } from '../../../format/api-key.ts';
import { REPORT } from '../../../format/layout.ts';
import { createKeysTables } from '../../../keys/tables/schema.ts';
import { makeSampleSqlite } from '../../catalogue/snapshots.ts';
import { UNPRIVILEGED } from '../../support/processes.ts';
import { ROOT, testKey } from '../../support/product.ts';

/** Root can run programs as two users, if these may read the checkout: `mktemp -d` makes folders that they may not. */
export const HAS_TWO_USERS = process.getuid?.() === 0 && isPublic(ROOT);
/** They need no entry in /etc/passwd. */
export const GENERATOR = { uid: 64_101, gid: 64_101 };
export const PROXY = { uid: 64_102, gid: 64_102 };
export const COVERS = 64_103;

export const key = testKey(1);

/** A command that runs the command after it as a user who is in the group that reads the snapshots. */
export const as = ({ uid, gid }: typeof PROXY) =>
  HAS_TWO_USERS
    ? ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, `--groups=${COVERS}`]
    : UNPRIVILEGED;

function isPublic(folder: string): boolean {
  const isReadable = (statSync(folder).mode & 0o5) === 0o5;
  return isReadable && (folder === '/' || isPublic(path.dirname(folder)));
}

/** A database with one key, readable for everybody. */
export async function makeDatabase(): Promise<string> {
  const url = await makeSampleSqlite();
  const database = await openDatabase(url);
  await createKeysTables(database);
  await database.run(
    `INSERT INTO api_keys (id, purpose, website_url, state, requested_at, limit_per_minute, key_hash)
     VALUES (1, '', '', 'approved', '2026-01-01 00:00:00', 1000, ?)`,
    [hashKey(key.key)],
  );
  await database.close();
  const file = url.slice('sqlite:'.length);
  chmodSync(path.dirname(file), 0o777);
  for (const name of readdirSync(path.dirname(file))) {
    chmodSync(path.join(path.dirname(file), name), 0o666);
  }
  return url;
}

export const changeTitle = async (url: string, title: string) => {
  const database = await openDatabase(url);
  await database.run('UPDATE games SET title = ? WHERE id = (SELECT MIN(id) FROM games)', [title]);
  await database.close();
};

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
    if (name === REPORT || name === 'lock.holder') {
      expect(modeOf(file)).toBe('600');
      continue;
    }
    if (!statSync(file).isDirectory()) files.add(modeOf(file));
    else if (name !== '.') folders.add(modeOf(file));
  }
  return { files: [...files], folders: [...folders] };
}

export const PRIVATE = { files: ['600'], folders: ['700'] };
export const SHARED = { files: ['640'], folders: ['2750'] };
