/**
 * The row cache: what a run keeps about the rows that it has read, in a folder of the snapshots folder
 * that only the owner may read. It fits one generation, database and program; the next run uses it if all
 * of them are still the same, and if every byte is as it was written. The head is written last.
 */
import { hash } from 'node:crypto';
import { chmodSync, lstatSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { TIMED_TABLES, type TimedTable } from '../../database/schema.ts';
import { type Columns, encodeColumns, type WritableColumns } from '../../format/index/columns.ts';
import { ROW_CACHE } from '../../format/layout.ts';
import type { ManifestFile } from '../../format/manifest.ts';
import { readBoundedFileSync } from '../../program/files/bounded-file.ts';
import { readColumns } from '../../store/files/checked-columns.ts';
import { replaceFile } from '../../store/files/replace-file.ts';
import { namesIn } from '../../store/generations/generations.ts';
import type { ReportContent } from '../report/report.ts';
import { allSynced, writeWhole } from '../write/file-writer.ts';
import { type CacheKey, WHY_UNUSABLE } from './cache-key.ts';
import type { CachedValues } from './cached-rows.ts';

/** What a run keeps, beside the tables. */
export interface CacheContent {
  /** When all rows were read last, in milliseconds since 1970. */
  readonly fullRunAt: number;
  readonly values: CachedValues;
  /** The rows that the run left out, and its warnings about the others. */
  readonly report: ReportContent;
  /** For each file of the generation, what shows that it is still the same one; see `fileState`. */
  readonly fileStates: Readonly<Record<string, string | undefined>>;
}

/** A cache whose head was read and checked. */
export interface StoredCache extends CacheContent {
  /** @throws Error if the file of the table is damaged */
  open(table: TimedTable): Columns;
  readonly files: readonly ManifestFile[];
}

const HEAD = 'head.json';
/** In bytes. The head of a million games has 2 MB. */
const LARGEST_HEAD = 64 * 2 ** 20;

/** For each part of a key, its hash: the text that describes a database is long. */
type KeyHashes = Readonly<Record<keyof CacheKey, string>>;

interface Head extends CacheContent {
  readonly key: KeyHashes;
  readonly files: readonly ManifestFile[];
}

const folderIn = (snapshotsDir: string) => path.join(snapshotsDir, ROW_CACHE);
const fileOf = (table: TimedTable) => `${table}.bin`;
/** The name of a table until it becomes part of the cache. */
const nextOf = (table: TimedTable) => `${fileOf(table)}.next`;

function hashOf(text: string): string {
  return hash('sha256', text);
}

function hashKey({ program, database, settings, generation }: CacheKey): KeyHashes {
  return {
    program: hashOf(program),
    database: hashOf(database),
    settings: hashOf(JSON.stringify(settings)),
    generation: hashOf(generation),
  };
}

/** The tables of the next cache: new ones, and those that the cache has already. */
export interface WrittenTables {
  readonly files: readonly ManifestFile[];
  readonly fresh: readonly TimedTable[];
}

/**
 * Writes tables next to the cache, which stays as it is.
 * @param columnsOf returns the columns of a table; undefined if they are those of the cache `before`
 */
export async function writeTables(
  snapshotsDir: string,
  columnsOf: (table: TimedTable) => WritableColumns | undefined,
  before?: StoredCache,
): Promise<WrittenTables> {
  const dir = folderIn(snapshotsDir);
  if (!lstatSync(dir, { throwIfNoEntry: false })?.isDirectory()) rmSync(dir, { force: true });
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  // A folder inherits the setgid bit of a shared folder, and its files then belong to the group, too.
  chmodSync(dir, 0o700);
  discardTables(snapshotsDir);
  const files: ManifestFile[] = [];
  const fresh: TimedTable[] = [];
  for (const table of TIMED_TABLES) {
    const columns = columnsOf(table);
    const kept = before?.files.find((file) => file.path === fileOf(table));
    if (columns === undefined && kept !== undefined) {
      files.push(kept);
      continue;
    }
    if (columns === undefined) throw new Error(`the row cache has no ${fileOf(table)} to keep`);
    const written = await writeWhole(dir, nextOf(table), encodeColumns(columns));
    files.push({ ...written, path: fileOf(table) });
    fresh.push(table);
  }
  return { files, fresh };
}

/** Removes what {@link writeTables} has written, now or before a run was killed. */
export function discardTables(snapshotsDir: string): void {
  const dir = folderIn(snapshotsDir);
  const ofCache = [HEAD, ...TIMED_TABLES.map(fileOf)];
  for (const name of namesIn(dir)) {
    if (!ofCache.includes(name)) rmSync(path.join(dir, name), { recursive: true, force: true });
  }
}

/** Replaces the cache. If this fails, or is interrupted, there is none. */
export async function replaceCache(
  snapshotsDir: string,
  key: CacheKey,
  content: CacheContent,
  { files, fresh }: WrittenTables,
): Promise<void> {
  const dir = folderIn(snapshotsDir);
  await allSynced();
  rmSync(path.join(dir, HEAD), { recursive: true, force: true });
  for (const table of fresh) {
    const file = path.join(dir, fileOf(table));
    // A rename does not replace a folder.
    rmSync(file, { recursive: true, force: true });
    renameSync(path.join(dir, nextOf(table)), file);
  }
  const head: Head = { key: hashKey(key), ...content, files };
  const text = JSON.stringify(head);
  replaceFile(path.join(dir, HEAD), `${hashOf(text)}\n${text}\n`, 0o600);
}

/**
 * Reads the head of the cache. The files of the tables are only checked for their sizes.
 * @throws Error that says why the cache cannot be used
 */
export function openCache(snapshotsDir: string, key: CacheKey): StoredCache {
  const dir = folderIn(snapshotsDir);
  const { key: found, ...content } = readHead(dir);
  const expected = hashKey(key);
  const parts = Object.keys(WHY_UNUSABLE) as (keyof CacheKey)[];
  // The head of an older version of the program may have no key.
  const other = parts.find((part) => found?.[part] !== expected[part]);
  if (other !== undefined) throw new Error(WHY_UNUSABLE[other]);
  const { files } = content;
  const entryOf = (table: TimedTable): ManifestFile => {
    const name = fileOf(table);
    const file = files.find((entry) => entry.path === name);
    if (file === undefined) throw new Error(`the row cache has no ${name}`);
    return file;
  };
  for (const { path: name, size } of TIMED_TABLES.map(entryOf)) {
    const bytes = statSync(path.join(dir, name), { throwIfNoEntry: false })?.size ?? 0;
    if (bytes === size) continue;
    throw new Error(`the row cache is damaged (${name} has ${bytes} bytes instead of ${size})`);
  }
  return {
    ...content,
    open(table) {
      const file = entryOf(table);
      try {
        // The worker thread reads games and covers. V8 frees memory that is not shared sooner.
        const Memory = table === 'cover_files' ? ArrayBuffer : SharedArrayBuffer;
        return readColumns(dir, file, Memory);
      } catch (cause) {
        throw new Error(`the row cache is damaged (${(cause as Error).message})`, { cause });
      }
    },
  };
}

function readHead(dir: string): Head {
  let text: string;
  try {
    text = readBoundedFileSync(path.join(dir, HEAD), LARGEST_HEAD).toString();
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw new Error('there is no row cache yet');
    throw new Error(`the row cache cannot be read (${message})`, { cause });
  }
  const [headHash, head, end] = text.split('\n');
  if (head === undefined || end !== '' || headHash !== hashOf(head)) {
    throw new Error('the row cache is damaged (its head is not as it was written)');
  }
  return JSON.parse(head) as Head;
}
