/** About how long a run will take, how much space it needs, and whether the disk has it. */
import { existsSync, statfsSync } from 'node:fs';
import path from 'node:path';
import type { Database } from '../../database/database.ts';
import {
  currentId,
  generationDir,
  idsOnDisk,
  readManifest,
} from '../../generations/generations.ts';
import { KEPT_GENERATIONS } from '../../generations/prune.ts';
import { type Check, type Findings, requireValue, type Scene } from '../findings/check.ts';

/** In bytes and microseconds, measured with catalogues of 150,000 and of a million games. */
const COSTS = {
  games: { bytes: 550, time: 12 },
  covers: { bytes: 330, time: 9 },
  cover_files: { bytes: 210, time: 5 },
} as const;
/** Besides the kept generations: the one that a run replaces, and the one that it writes. */
const MOST_GENERATIONS = KEPT_GENERATIONS + 2;
/** Below this, not even keys and key usage can be written for long. */
const LEAST_FREE = 50e6;

export const space = makeSpaceCheck(freeBytes);

/** @param freeBytes how many bytes are free on the disk of a folder, which need not exist */
export function makeSpaceCheck(freeBytes: (folder: string) => number): Check {
  return {
    name: 'time and space',
    programs: ['schedule', 'proxy', 'replica'],
    run: (scene, findings) => checkSpace(scene, findings, freeBytes),
  };
}

async function checkSpace(
  scene: Scene,
  { ok, warn, error, skip }: Findings,
  freeBytes: (folder: string) => number,
): Promise<void> {
  const snapshotsDir = path.resolve(requireValue(scene, 'SNAPSHOTS_DIR'));
  const free = freeBytes(snapshotsDir);
  const where = `on the disk of ${snapshotsDir}`;
  if (free < LEAST_FREE) {
    error(
      free === 0 ? `No space is free ${where}.` : `Only ${sizeText(free)} are free ${where}.`,
      'Free space there: "cover-catalogue snapshot prune --keep 2" removes old generations.',
    );
    return;
  }
  const current = sizeOfCurrent(snapshotsDir);
  const rows = scene.programs.includes('schedule')
    ? await countRows(await scene.database().catch(() => undefined))
    : undefined;
  const generation = rows === undefined ? current : Math.max(current ?? 0, costOf(rows, 'bytes'));
  if (rows !== undefined) {
    const seconds = Math.ceil(costOf(rows, 'time') / 1e6);
    ok(
      `${rows.games} games, ${rows.covers} covers and ${rows.cover_files} files: a run takes about ${seconds} s on an idle machine, and ${seconds * 2} s on a busy one.`,
    );
  }
  if (generation === undefined) {
    skip(
      `${sizeText(free)} are free ${where}, but the size of a generation is not known.`,
      'Run the doctor where DATABASE_URL is set, or after the first generation.',
    );
    return;
  }
  const text = `A generation takes about ${sizeText(generation)}, all that are kept about ${sizeText(generation * MOST_GENERATIONS)}, and ${sizeText(free)} are free ${where}.`;
  const fix = 'Use a larger disk, or free space there.';
  const existing =
    current === undefined ? 0 : Math.min(idsOnDisk(snapshotsDir).length, MOST_GENERATIONS);
  if (free < 1.2 * generation) error(`${text} The next run cannot write its generation.`, fix);
  else if (free < (MOST_GENERATIONS - existing) * generation) {
    warn(`${text} The disk will be full before old generations are removed.`, fix);
  } else ok(text);
}

function freeBytes(folder: string): number {
  let existing = folder;
  while (!existsSync(existing) && existing !== path.dirname(existing)) {
    existing = path.dirname(existing);
  }
  const { bavail, bsize } = statfsSync(existing);
  return bavail * bsize;
}

function sizeOfCurrent(snapshotsDir: string): number | undefined {
  try {
    const id = currentId(snapshotsDir);
    if (id === undefined) return undefined;
    const { files } = readManifest(generationDir(snapshotsDir, id));
    return files.reduce((sum, { size }) => sum + size, 0);
  } catch {
    // The check of the snapshots folder reports it.
    return undefined;
  }
}

type Rows = Readonly<Record<keyof typeof COSTS, number>>;

/** @returns undefined if the tables cannot be counted, which their own check reports */
async function countRows(database: Database | undefined): Promise<Rows | undefined> {
  if (database === undefined) return undefined;
  try {
    const count = async (table: string) =>
      Number((await database.rows(`SELECT COUNT(*) FROM ${table}`))[0]?.[0]);
    return {
      games: await count('games'),
      covers: await count('covers'),
      cover_files: await count('cover_files'),
    };
  } catch {
    return undefined;
  }
}

function costOf(rows: Rows, what: 'bytes' | 'time'): number {
  const tables = Object.keys(COSTS) as (keyof typeof COSTS)[];
  return tables.reduce((sum, table) => sum + rows[table] * COSTS[table][what], 0);
}

function sizeText(bytes: number): string {
  if (bytes >= 1e9) return `${(bytes / 1e9).toFixed(1)} GB`;
  return bytes >= 1e6 ? `${Math.round(bytes / 1e6)} MB` : `${Math.ceil(bytes / 1e3)} KB`;
}
