/**
 * The data of the search benchmark: a real generation, and its games as lines in title order (the
 * number of a line is the rank of its game) for the engines that build their own index.
 */
import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  readlinkSync,
  readSync,
  renameSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import { openDatabase } from '../../../database/open.ts';
import { openRecordIndex, platformOf } from '../../../format/index/record-index.ts';
import {
  entriesAt,
  openSearchIndex,
  type Postings,
  textAt,
} from '../../../format/index/search-index.ts';
import { CURRENT, gamesPack } from '../../../format/layout.ts';
import type { Catalogue } from '../../catalogue/catalogue.ts';
import { loadCatalogue } from '../../catalogue/load.ts';
import { seededCatalogue } from '../../catalogue/seeded.ts';
import { sharedCatalogue } from '../../catalogue/shared.ts';
import { runGenerator } from '../run-generator.ts';

export interface SearchDocument {
  /** Its id in `search.json`. */
  readonly path: string;
  readonly title: string;
  readonly platform: string;
  readonly platformName: string;
  /** How many approved covers it has. */
  readonly covers: number;
  readonly year: number | null;
  readonly genres: string | null;
  /** The regions of its approved covers, case-folded. */
  readonly regions: readonly string[];
  readonly types: readonly string[];
}

/** The size of the real catalogue, which is used for this size if it is available. */
export const REAL_GAMES = 148_454;
const SEED = 3;
const CHUNK_BYTES = 1024 * 1024;

export function snapshotsIn(folder: string): string {
  return path.join(folder, 'snapshots');
}

/** The folder of the generation in a folder of {@link prepareDocuments}. */
export function generationIn(folder: string): string {
  const snapshots = snapshotsIn(folder);
  return path.join(snapshots, readlinkSync(path.join(snapshots, CURRENT)));
}

/**
 * Generates a catalogue in a folder, unless it exists already, and writes its games as lines.
 * @returns a description of the catalogue
 */
export async function prepareDocuments(folder: string, games: number): Promise<string> {
  const real = games === REAL_GAMES ? sharedCatalogue() : undefined;
  const name = real === undefined ? 'seeded titles' : 'real titles';
  const make = () => real ?? seededCatalogue({ games, seed: SEED, filesPerCover: 1 });
  await prepareCatalogue(folder, make);
  return name;
}

/** Generates a catalogue in a folder and writes its games as lines, unless both exist already. */
export async function prepareCatalogue(folder: string, make: () => Catalogue): Promise<void> {
  if (existsSync(path.join(folder, 'games.jsonl'))) return;
  await generateIn(folder, make());
  writeLines(folder);
}

async function generateIn(folder: string, catalogue: Catalogue): Promise<void> {
  const url = `sqlite:${path.join(folder, 'catalogue.db')}`;
  const database = await openDatabase(url, { create: true });
  try {
    await loadCatalogue(database, catalogue);
  } finally {
    await database.close();
  }
  await runGenerator(url, snapshotsIn(folder));
}

function writeLines(folder: string): void {
  const generation = generationIn(folder);
  const content = (name: string) => readFileSync(path.join(generation, name));
  const { platforms, games } = openRecordIndex(content);
  const index = openSearchIndex(content);
  const regions = valuesByRank(index.regions, index.games);
  const types = valuesByRank(index.types, index.games);
  const packs = platforms.map(({ slug }) => openSync(path.join(generation, gamesPack(slug)), 'r'));
  const target = openSync(path.join(folder, 'unfinished.jsonl'), 'w');
  let lines = '';
  for (let rank = 0; rank < index.games; rank++) {
    const number = games.gameOfRank[rank];
    const platform = platformOf(platforms, 'first_game', number);
    const bytes = Buffer.allocUnsafe(games.byteLength[number]);
    readSync(packs[platform], bytes, 0, bytes.length, games.byteOffset[number]);
    const record = JSON.parse(bytes.toString('utf8'));
    const document: SearchDocument = {
      path: `${record.platform.slug}/${record.slug}`,
      title: record.title,
      platform: record.platform.slug,
      platformName: record.platform.name,
      covers: record.cover_count,
      year: record.release_year,
      genres: record.genres,
      regions: regions[rank] ?? [],
      types: types[rank] ?? [],
    };
    lines += `${JSON.stringify(document)}\n`;
    if (lines.length < CHUNK_BYTES && rank < index.games - 1) continue;
    writeSync(target, lines);
    lines = '';
  }
  for (const descriptor of [...packs, target]) closeSync(descriptor);
  // This file is written last, so its existence means that everything before it is complete.
  renameSync(path.join(folder, 'unfinished.jsonl'), path.join(folder, 'games.jsonl'));
}

function valuesByRank(list: Postings, games: number): string[][] {
  const values: string[][] = new Array(games);
  for (let index = 0; index < list.textStart.length - 1; index++) {
    const text = textAt(list, index);
    for (const rank of entriesAt(list, index)) {
      const known = values[rank];
      if (known === undefined) values[rank] = [text];
      else known.push(text);
    }
  }
  return values;
}

/** Reads the games of a folder one by one, in title order. */
export function* readDocuments(folder: string): Generator<SearchDocument> {
  const descriptor = openSync(path.join(folder, 'games.jsonl'), 'r');
  const decoder = new TextDecoder();
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  let rest = '';
  try {
    for (;;) {
      const read = readSync(descriptor, chunk);
      if (read === 0) return;
      const lines = (rest + decoder.decode(chunk.subarray(0, read), { stream: true })).split('\n');
      rest = lines.pop() as string;
      for (const line of lines) yield JSON.parse(line);
    }
  } finally {
    closeSync(descriptor);
  }
}
