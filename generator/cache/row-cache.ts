/**
 * The row cache: what a run keeps about the rows that it has read, in a folder of the snapshots folder
 * that only the owner may read. It fits one generation, database and program; the next run uses it if all
 * of them are still the same, and if every byte is as it was written. The head is written last.
 */
import { hash } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { TIMED_TABLES, type TimedTable } from '../../database/schema.ts';
import { type Columns, encodeColumns, openColumns } from '../../format/index/columns.ts';
import { ROW_CACHE } from '../../format/layout.ts';
import type { ManifestFile, Settings } from '../../format/manifest.ts';
import { readChecked } from '../../store/files/checked-files.ts';
import { replaceFile } from '../../store/files/replace-file.ts';
import { allSynced, writeWhole } from '../write/file-writer.ts';

/** What must be the same for the cache to be used. */
export interface CacheOwner {
  /** The generation that the rows were written to. */
  readonly generation: string;
  /** Of the database; see `Database.identity`. */
  readonly database: string;
  readonly settings: Settings;
  /** The versions of the program and of what it runs on. */
  readonly program: string;
}

/** What a run keeps. */
export interface CacheContent {
  /** When all rows were read last, in milliseconds since 1970. */
  readonly fullRunAt: number;
  /** Small values. */
  readonly values: Readonly<Record<string, unknown>>;
  readonly columns: Readonly<Record<TimedTable, Columns>>;
}

const HEAD = 'head.json';

interface Head extends Omit<CacheContent, 'columns'> {
  readonly owner: string;
  readonly files: readonly ManifestFile[];
}

const folderIn = (snapshotsDir: string) => path.join(snapshotsDir, ROW_CACHE);
const fileOf = (table: TimedTable) => `${table}.bin`;

function sealOf(text: string): string {
  return hash('sha256', text);
}

export function removeCache(snapshotsDir: string): void {
  rmSync(folderIn(snapshotsDir), { recursive: true, force: true });
}

/** Replaces the cache. If this fails, or is interrupted, there is none. */
export async function writeCache(
  snapshotsDir: string,
  owner: CacheOwner,
  { columns, ...content }: CacheContent,
): Promise<void> {
  const dir = folderIn(snapshotsDir);
  removeCache(snapshotsDir);
  mkdirSync(dir, { mode: 0o700 });
  // A folder inherits the setgid bit of a shared folder, and its files then belong to the group, too.
  chmodSync(dir, 0o700);
  const files: ManifestFile[] = [];
  for (const table of TIMED_TABLES) {
    files.push(await writeWhole(dir, fileOf(table), encodeColumns(columns[table])));
  }
  await allSynced();
  const head: Head = { owner: sealOf(JSON.stringify(owner)), ...content, files };
  const text = JSON.stringify(head);
  replaceFile(path.join(dir, HEAD), `${sealOf(text)}\n${text}\n`, 0o600);
}

/** @throws Error that says why the cache cannot be used */
export function readCache(snapshotsDir: string, owner: CacheOwner): CacheContent {
  const dir = folderIn(snapshotsDir);
  const { owner: ownerSeal, files, ...content } = readHead(dir);
  if (ownerSeal !== sealOf(JSON.stringify(owner))) {
    throw new Error(
      'the row cache is of another generation, database or version, or of other settings',
    );
  }
  const open = (table: TimedTable) => {
    const name = fileOf(table);
    const file = files.find((entry) => entry.path === name);
    if (file === undefined) throw new Error(`the row cache has no ${name}`);
    try {
      return openColumns(readChecked(dir, file, SharedArrayBuffer), name);
    } catch (cause) {
      throw new Error(`the row cache is damaged (${(cause as Error).message})`, { cause });
    }
  };
  return {
    ...content,
    columns: { games: open('games'), covers: open('covers'), cover_files: open('cover_files') },
  };
}

function readHead(dir: string): Head {
  let text: string;
  try {
    text = readFileSync(path.join(dir, HEAD), 'utf8');
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw new Error('there is no row cache yet');
    throw new Error(`the row cache cannot be read (${message})`, { cause });
  }
  const [seal, head, end] = text.split('\n');
  if (head === undefined || end !== '' || seal !== sealOf(head)) {
    throw new Error('the row cache is damaged (its head is not as it was written)');
  }
  return JSON.parse(head) as Head;
}
