/**
 * What a run leaves for the next one, beside the generation: fingerprints of blocks of rows, what the report says
 * about them, and what only the rows say of games and covers. It is one private file, which may be removed at any
 * time: then the next run reads all rows.
 */
import { createHash, hash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import type { Database } from '../../lib/database/database.ts';
import type { HiddenViews } from '../../lib/database/hidden-views.ts';
import type { TimedTable } from '../../lib/database/schema.ts';
import { type Column, encodeColumns, viewColumns } from '../../lib/format/index/columns.ts';
import { EARLIER_RUN } from '../../lib/format/layout.ts';
import type { Manifest, ManifestFile, Settings } from '../../lib/format/manifest.ts';
import { replaceFile } from '../../lib/generations/files/replace-file.ts';
import { generationDir } from '../../lib/generations/generations.ts';
import type { Previous } from '../../lib/generations/publish.ts';
import { readBoundedFileSync } from '../../lib/program/files/bounded-file.ts';
import type { Scope } from '../read/read-catalogue.ts';
import type { BlockFindings } from '../report/report.ts';
import type { DatedCover } from '../report/warnings.ts';
import type { Shifts } from './blocks.ts';
import type { AllFingerprints, LastCommits } from './find-changes.ts';

/** A full run finds changes that `updated_at` does not show. */
const FULL_RUN_HOURS = 24;
/** Four times the size of the file for a million games. */
const MOST_BYTES = 256 * 1024 * 1024;
/** Of the first line. */
const HASH_BYTES = 65;
const ALIGNMENT = 8;

/** What must be the same for the next run to rely on this one. */
export interface RunKey {
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
  settings: 'the last run had another SITE_URL, SITE_LANGUAGE or FILES_URL',
  generation: 'the last run did not write the current generation',
};

/** What a run knows about the rows that it has read. */
export interface RowsOfRun {
  readonly shifts: Shifts;
  readonly fingerprints: AllFingerprints;
  /** The last commits before its snapshot of the database. */
  readonly commits: LastCommits;
  /** All platforms, as a text to compare. */
  readonly platforms: string;
  /** The hash of all rows of `game_titles`. */
  readonly titles: string;
  /** The hash of all rows of `game_ids` and `platform_ids`. */
  readonly externalIds: string;
  /** The covers that were approved in the future then. */
  readonly future: readonly DatedCover[];
  readonly findings: ReadonlyMap<string, BlockFindings>;
  readonly details: Details;
}

/** What a generation does not have in columns: values of games and covers by their numbers. */
export interface Details {
  readonly values: Scope['values'];
  /** Indexes of `values`, and other numbers; `approvedAt` in the memory of 64-bit floats. */
  readonly columns: Readonly<
    Record<'genre' | 'year' | 'region' | 'type' | 'files' | 'approvedAt', Column>
  >;
}

export interface EarlierRun extends RowsOfRun {
  readonly dir: string;
  readonly manifest: Manifest;
  /** When all rows were read last, in milliseconds since 1970. */
  readonly fullRunAt: number;
  /** The blocks of games whose faults depend on other blocks. */
  readonly dependentBlocks: readonly string[];
}

export type KeyOf = (generation: string) => RunKey;

/** @returns a function that returns the key of a run that has written a generation */
export async function makeRunKey(database: Database, settings: Settings): Promise<KeyOf> {
  const identity = await database.identity();
  const program = programVersion();
  return (generation) => ({ generation, database: identity, settings, program });
}

/** Why a database cannot show which rows have changed; undefined if it can. */
export function whyUntimed(
  withoutUpdatedAt: readonly TimedTable[],
  hiddenViews: HiddenViews | undefined,
): string | undefined {
  if (withoutUpdatedAt.length === 0) return hiddenViews?.fault;
  const columns = withoutUpdatedAt.map((table) => `${table}.updated_at`);
  return `the database does not have ${columns.join(', ')}`;
}

/** @returns the earlier run, or why all rows must be read. @param now in milliseconds since 1970 */
export function findEarlierRun(
  snapshotsDir: string,
  { id, manifest }: Previous,
  keyOf: KeyOf,
  now = Date.now(),
): EarlierRun | { readonly reason: string } {
  if (id === undefined) return { reason: 'there is no generation yet' };
  if (manifest === undefined) return { reason: 'the current generation cannot be read' };
  const file = path.join(snapshotsDir, EARLIER_RUN);
  if (!existsSync(file)) return { reason: 'nothing is known of the last run' };
  const found = readStored(file);
  if (found === undefined) return { reason: `${EARLIER_RUN} is damaged` };
  const { key, fullRunAt, files, findings, values: _, ...rows } = found.stored;
  const { details } = found;
  const wanted = keyOf(id);
  for (const part of ['program', 'database', 'settings', 'generation'] as const) {
    if (JSON.stringify(key[part]) !== JSON.stringify(wanted[part]))
      return { reason: WHY_UNUSABLE[part] };
  }
  const hours = (now - fullRunAt) / 3_600_000;
  if (!(hours >= 0 && hours < FULL_RUN_HOURS)) {
    return { reason: `the last full run was not within ${FULL_RUN_HOURS} hours` };
  }
  const dir = generationDir(snapshotsDir, id);
  const touched = manifest.files.find((entry) => fileState(dir, entry) !== files[entry.path]);
  if (touched !== undefined) {
    return { reason: `${touched.path} of the current generation was touched` };
  }
  const dependentBlocks = findings
    .filter(([, { dependsOnOthers }]) => dependsOnOthers)
    .map(([block]) => block.replace('games ', ''));
  return {
    ...rows,
    details,
    fullRunAt,
    dir,
    manifest,
    findings: new Map(findings),
    dependentBlocks,
  };
}

type Stored = Omit<RowsOfRun, 'findings' | 'details'> & {
  readonly key: RunKey;
  readonly values: Details['values'];
  readonly fullRunAt: number;
  /** The state of each file of the generation. */
  readonly files: Readonly<Record<string, string | undefined>>;
  readonly findings: readonly [block: string, BlockFindings][];
};

/** The first line is the hash of what follows: a line of JSON, and columns. */
export function saveRun(
  snapshotsDir: string,
  key: RunKey,
  files: readonly ManifestFile[],
  fullRunAt: number,
  rows: RowsOfRun,
): void {
  const dir = generationDir(snapshotsDir, key.generation);
  const { details, ...others } = rows;
  const stored: Stored = {
    ...others,
    key,
    values: details.values,
    fullRunAt,
    files: Object.fromEntries(files.map((file) => [file.path, fileState(dir, file)])),
    findings: [...rows.findings],
  };
  const json = JSON.stringify(stored);
  // Columns begin at a multiple of 8, so that they can be opened where they are.
  const spaces = ALIGNMENT - 1 - ((HASH_BYTES + Buffer.byteLength(json)) % ALIGNMENT);
  const content = Buffer.concat([
    Buffer.from(`${json}${' '.repeat(spaces)}\n`),
    ...encodeColumns(details.columns),
  ]);
  const file = Buffer.concat([Buffer.from(`${hashOf(content)}\n`), content]);
  replaceFile(path.join(snapshotsDir, EARLIER_RUN), file, { mode: 0o600 });
}

function readStored(file: string): { stored: Stored; details: Details } | undefined {
  try {
    const bytes = readBoundedFileSync(file, MOST_BYTES);
    const content = bytes.subarray(HASH_BYTES);
    if (bytes.toString('latin1', 0, HASH_BYTES) !== `${hashOf(content)}\n`) return undefined;
    const end = content.indexOf('\n') + 1;
    const stored: Stored = JSON.parse(content.toString('utf8', 0, end));
    const { genre, year, region, type, files, approvedAt } = viewColumns(
      content.subarray(end),
      EARLIER_RUN,
    );
    const columns = { genre, year, region, type, files, approvedAt };
    return { stored, details: { values: stored.values, columns } };
  } catch {
    return undefined;
  }
}

function hashOf(content: Buffer): string {
  return hash('sha256', content);
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
/** The folders that affect what a generation contains. */
const FOLDERS = ['generator', 'lib'];

/**
 * Identifies the program, so that a run never relies on one of another version. It is the hash of the
 * sources: a number that somebody must increase would be forgotten one day.
 */
function programVersion(): string {
  const sha256 = createHash('sha256').update(JSON.stringify(process.versions));
  const packageFile = path.join(ROOT, 'package.json');
  if (existsSync(packageFile)) sha256.update(readFileSync(packageFile));
  for (const folder of FOLDERS) {
    const files = readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' });
    for (const name of files.filter((file) => /\.[jt]s$/.test(file)).sort()) {
      sha256.update(`\n${folder}/${name}\n`).update(readFileSync(path.join(ROOT, folder, name)));
    }
  }
  return sha256.digest('hex');
}
