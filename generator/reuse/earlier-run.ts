/**
 * What a run leaves for the next one, beside the generation: fingerprints of blocks of rows, what the report says
 * about them, and what only the rows say of games and covers. It is one private file, which may be removed at any
 * time: then the next run reads all rows.
 */
import { createHash, hash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import type { ValueFilter } from '../../find/search/value-filters.ts';
import { encodeColumns, type StoredColumn, viewColumns } from '../../lib/columns/container.ts';
import type { Database } from '../../lib/database/database.ts';
import { EARLIER_RUN, FORMAT_VERSION } from '../../lib/format/layout.ts';
import type { Manifest, ManifestFile, Settings } from '../../lib/format/manifest.ts';
import { replaceFile } from '../../lib/generations/files/replace-file.ts';
import { generationDir } from '../../lib/generations/generations.ts';
import type { Previous } from '../../lib/generations/publish.ts';
import { listText } from '../../lib/program/environment/values.ts';
import { readBoundedFileSync } from '../../lib/program/files/bounded-file.ts';
import type { Scope, StatusCounts } from '../read/read-catalogue.ts';
import type { Warning } from '../report/report.ts';
import type { NUMBER_COLUMNS } from '../rows/catalogue.ts';
import { SETTING_VARIABLES } from '../rows/settings.ts';
import type { KnownBlocks } from './find-changes.ts';

/** A full run finds changes that `updated_at` does not show. */
const FULL_RUN_HOURS = 24;
/** The file has 40 MB for a million games. Without one, the next run reads all rows. */
const MOST_BYTES = 2 ** 30;
const HASH_BYTES = 32;

/** What must be the same for the next run to rely on this one. */
interface RunKey {
  /** The generation that the run has published, or found unchanged. */
  readonly generation: string;
  /** Of the database; see `Database.identity`. */
  readonly database: string;
  readonly settings: Settings;
  /** The versions of the program and of what it runs on. */
  readonly program: string;
}

const WHY_UNUSABLE: Readonly<Record<keyof RunKey, string>> = {
  program: 'the last run was one of another version of the program or of Node',
  database: 'the last run read another database, or a table or view was altered',
  settings: `the last run had another ${listText(SETTING_VARIABLES, 'or')}`,
  generation: 'the last run did not write the current generation',
};

/** What is kept of a catalogue besides its generation. */
export interface KeptValues {
  /** The distinct values of each filter. */
  readonly values: Scope['values'];
  /** By the numbers of games and covers. */
  readonly columns: Readonly<Record<KeptColumn, StoredColumn>>;
}
/** The columns of filters, and those of numbers. */
export type KeptColumn =
  | ValueFilter
  | keyof typeof NUMBER_COLUMNS.game
  | keyof typeof NUMBER_COLUMNS.cover;

/** What a run knows that the next one needs. */
export interface ForNextRun extends KnownBlocks, KeptValues {
  /** The warnings about the catalogue as a whole. */
  readonly warnings: readonly Warning[];
  /** How many covers are not public, by status. */
  readonly notPublic: StatusCounts;
  /** The hash of all rows of `game_titles`. */
  readonly titles: string;
  /** The hash of all rows of `game_ids` and `platform_ids`. */
  readonly externalIds: string;
}

export interface EarlierRun extends ForNextRun {
  readonly dir: string;
  readonly manifest: Manifest;
  /** When all rows were read last, in milliseconds since 1970. */
  readonly fullRunAt: number;
}

export type KeyOf = (generation: string) => RunKey;

/** @returns a function that returns the key of a run that has written a generation */
export async function makeRunKey(database: Database, settings: Settings): Promise<KeyOf> {
  const identity = await database.identity();
  const program = programVersion();
  return (generation) => ({ generation, database: identity, settings, program });
}

/**
 * @param isRecent whether the run reads only recent changes: then, a full run that is due waits for the next one
 * @param now in milliseconds since 1970
 * @returns the earlier run, or why all rows must be read
 */
export function findEarlierRun(
  snapshotsDir: string,
  { id, manifest }: Previous,
  keyOf: KeyOf,
  isRecent = false,
  now = Date.now(),
): EarlierRun | { readonly reason: string } {
  if (id === undefined) return { reason: 'there is no generation yet' };
  if (manifest === undefined) return { reason: 'the current generation cannot be read' };
  const file = path.join(snapshotsDir, EARLIER_RUN);
  if (!existsSync(file)) return { reason: 'nothing is known of the last run' };
  const stored = readSavedRun(file);
  if (stored === undefined) return { reason: `${EARLIER_RUN} is damaged` };
  const { key, fullRunAt, files } = stored;
  const wanted = keyOf(id);
  for (const [part, reason] of Object.entries(WHY_UNUSABLE) as [keyof RunKey, string][])
    if (JSON.stringify(key[part]) !== JSON.stringify(wanted[part])) return { reason };
  const hours = (now - fullRunAt) / 3_600_000;
  if (!isRecent && !(hours >= 0 && hours < FULL_RUN_HOURS)) {
    return { reason: `the last full run was not within ${FULL_RUN_HOURS} hours` };
  }
  const dir = generationDir(snapshotsDir, id);
  const touched = manifest.files.find((entry) => fileState(dir, entry) !== files[entry.path]);
  if (touched !== undefined) {
    return { reason: `${touched.path} of the current generation was touched` };
  }
  return { ...stored, dir, manifest };
}

interface SavedRun extends ForNextRun {
  readonly key: RunKey;
  readonly fullRunAt: number;
  /** The state of each file of the generation. */
  readonly files: Readonly<Record<string, string | undefined>>;
}

/** A file of columns, of which one is JSON, and at the end their hash. */
export function saveRun(
  snapshotsDir: string,
  key: RunKey,
  manifest: Manifest,
  fullRunAt: number,
  { columns, ...rows }: ForNextRun,
): void {
  const dir = generationDir(snapshotsDir, key.generation);
  const states = manifest.files.map((file) => [file.path, fileState(dir, file)]);
  const stored = { ...rows, key, fullRunAt, files: Object.fromEntries(states) };
  const json = Buffer.from(JSON.stringify(stored));
  const content = [...encodeColumns({ json, ...columns }, FORMAT_VERSION)];
  const sha256 = createHash('sha256');
  for (const piece of content) sha256.update(piece);
  const file = [...content, sha256.digest()];
  replaceFile(path.join(snapshotsDir, EARLIER_RUN), file, { mode: 0o600 });
}

function readSavedRun(file: string): SavedRun | undefined {
  try {
    const bytes = readBoundedFileSync(file, MOST_BYTES);
    const content = bytes.subarray(0, -HASH_BYTES);
    if (!bytes.subarray(-HASH_BYTES).equals(hash('sha256', content, 'buffer'))) return undefined;
    const { json, ...columns } = viewColumns(content, EARLIER_RUN, FORMAT_VERSION);
    return {
      ...JSON.parse(Buffer.from(json.buffer, json.byteOffset, json.length).toString()),
      columns,
    };
  } catch {
    return undefined;
  }
}

/**
 * What changes if somebody writes to a file or replaces it: its device, inode, size and modification time.
 * All files are hashed again in each full run, because a disk can damage a file without changing these.
 */
function fileState(dir: string, { path: name }: ManifestFile): string | undefined {
  const stats = statSync(path.join(dir, name), { bigint: true, throwIfNoEntry: false });
  return stats && [stats.dev, stats.ino, stats.size, stats.mtimeNs].join(' ');
}

const ROOT = path.join(import.meta.dirname, '../..');
/** The folders that affect what a generation contains: that of the generator, and those that it imports. */
export const PROGRAM_FOLDERS: readonly string[] = ['find', 'generator', 'lib'];

/**
 * Identifies the program, so that a run never relies on one of another version. It is the hash of the
 * sources: a number that somebody must increase would be forgotten one day.
 */
function programVersion(): string {
  const sha256 = createHash('sha256').update(JSON.stringify(process.versions));
  sha256.update(readFileSync(path.join(ROOT, 'package.json')));
  for (const folder of PROGRAM_FOLDERS) {
    const files = readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' });
    for (const name of files.filter((file) => /\.[jt]s$/.test(file)).sort()) {
      sha256.update(`\n${folder}/${name}\n`).update(readFileSync(path.join(ROOT, folder, name)));
    }
  }
  return sha256.digest('hex');
}
