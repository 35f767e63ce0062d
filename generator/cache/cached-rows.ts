/** Turns the rows that a run has read into columns for the row cache, and back. */
import type { TimedTable } from '../../database/schema.ts';
import {
  type Column,
  type Columns,
  column,
  type StoredColumn,
  type WritableColumns,
} from '../../format/index/columns.ts';
import { sharedZeros } from '../../format/index/shared-zeros.ts';
import type { Covers, Games } from '../columns/catalogue.ts';
import type { Ids } from '../columns/ids.ts';
import { makeTextWriter, type Texts } from '../columns/texts.ts';
import type { Files } from '../read/read-files.ts';
import type { CachedFileRows, CachedRows, EarlierRun } from '../reuse/earlier-run.ts';
import type { Fingerprints } from '../reuse/fingerprints.ts';
import type { ForNextRun } from '../reuse/next-run.ts';
import type { CachedTable } from '../reuse/plan-read.ts';

/** The values that are not columns, as JSON keeps them. */
export interface CachedValues {
  readonly genres: Games['genres'];
  readonly regions: Covers['regions'];
  readonly types: Covers['types'];
  readonly fingerprints: Readonly<Record<TimedTable, PlainFingerprints>>;
  readonly commits: EarlierRun['commits'];
  readonly platformsText: EarlierRun['platformsText'];
  readonly alternativeTitlesHash: EarlierRun['alternativeTitlesHash'];
  readonly unsettled: EarlierRun['unsettled'];
}

interface PlainFingerprints extends Omit<Fingerprints, 'chunks'> {
  readonly chunks: readonly [chunk: number, text: string][];
}

/** @param time the time of each row */
export function encodeTable(
  table: TimedTable,
  { games, covers, files }: { games: Games; covers: Covers; files: Files },
  time: StoredColumn,
): WritableColumns {
  if (table === 'cover_files') return { ...files.columns, time };
  if (table === 'covers') {
    const { rows } = covers;
    return {
      ...idColumns(covers.ids, rows),
      time,
      game: covers.game.subarray(0, rows),
      region: covers.region.subarray(0, rows),
      type: covers.type.subarray(0, rows),
      approvedAt: covers.approvedAt.subarray(0, rows),
    };
  }
  const { rows } = games;
  return {
    ...idColumns(games.ids, rows),
    time,
    platform: games.platform.subarray(0, rows),
    // Index files have no 16-bit signed columns.
    year: Int32Array.from(games.year.subarray(0, rows)),
    genresOf: games.genresOf.subarray(0, rows),
    headLength: games.headLength.subarray(0, rows),
    ...textColumns('title', games.titles, rows),
    ...textColumns('slug', games.slugs, rows),
  };
}

export function encodeValues(
  { genres }: Games,
  { regions, types }: Covers,
  { fingerprints, commits, platformsText, alternativeTitlesHash, unsettled }: ForNextRun,
): CachedValues {
  const plain = ({ chunks, ...others }: Fingerprints) => ({ ...others, chunks: [...chunks] });
  return {
    genres,
    regions,
    types,
    commits,
    platformsText,
    alternativeTitlesHash,
    unsettled,
    fingerprints: {
      games: plain(fingerprints.games),
      covers: plain(fingerprints.covers),
      cover_files: plain(fingerprints.cover_files),
    },
  };
}

export function decodeFingerprints({
  fingerprints,
}: CachedValues): Readonly<Record<TimedTable, Fingerprints>> {
  const decode = ({ chunks, ...others }: PlainFingerprints) => ({
    ...others,
    chunks: new Map(chunks),
  });
  return {
    games: decode(fingerprints.games),
    covers: decode(fingerprints.covers),
    cover_files: decode(fingerprints.cover_files),
  };
}

function idColumns({ high, low }: Ids, rows: number): Columns {
  return { idHigh: high.subarray(0, rows), idLow: low.subarray(0, rows) };
}

/** The texts, concatenated, and where each starts; a row without a text has an empty one. */
function textColumns(name: string, texts: Texts, rows: number): Columns {
  const writer = makeTextWriter(texts);
  const start = new Uint32Array(rows + 1);
  for (let row = 0; row < rows; row++) start[row + 1] = start[row] + writer.lengthOf(row);
  const bytes = new Uint8Array(start[rows]);
  for (let row = 0; row < rows; row++) {
    if (start[row + 1] > start[row]) writer.put(bytes, start[row], row);
  }
  return { [`${name}Start`]: start, [`${name}Bytes`]: bytes };
}

type ColumnOf = <T extends Column>(name: string, Type: new (length: number) => T) => T;

function columnsOf(columns: Columns, table: TimedTable): ColumnOf {
  return (name, Type) => column(columns, name, Type, table);
}

function decodeTable(of: ColumnOf): CachedTable {
  const updated = of('time', Float64Array);
  const ids = { high: of('idHigh', Uint32Array), low: of('idLow', Uint32Array) };
  return { rows: updated.length, ids, updated };
}

/** @throws Error if a column is missing */
export function decodeRows(
  open: (table: TimedTable) => Columns,
  { genres, regions, types }: CachedValues,
): CachedRows {
  const [game, cover] = [columnsOf(open('games'), 'games'), columnsOf(open('covers'), 'covers')];
  const tables = { games: decodeTable(game), covers: decodeTable(cover) };
  const { rows, ids } = tables.games;
  return {
    tables,
    games: {
      rows,
      ids,
      genres,
      platform: game('platform', Uint32Array),
      year: Int16Array.from(game('year', Int32Array)),
      genresOf: game('genresOf', Uint32Array),
      headStart: new Float64Array(0),
      headLength: game('headLength', Uint32Array),
      titles: textsOf(game('titleStart', Uint32Array), game('titleBytes', Uint8Array), rows),
      slugs: textsOf(game('slugStart', Uint32Array), game('slugBytes', Uint8Array), rows),
    },
    covers: {
      rows: tables.covers.rows,
      ids: tables.covers.ids,
      regions,
      types,
      game: cover('game', Uint32Array),
      region: cover('region', Uint32Array),
      type: cover('type', Uint32Array),
      approvedAt: cover('approvedAt', Float64Array),
    },
  };
}

/** @throws Error if a column is missing */
export function decodeFileRows(open: (table: TimedTable) => Columns): CachedFileRows {
  const of = columnsOf(open('cover_files'), 'cover_files');
  return { table: decodeTable(of), cover: of('cover', Uint32Array) };
}

function textsOf(starts: Uint32Array, bytes: Uint8Array, rows: number): Texts {
  const start = starts.subarray(0, rows);
  const length = sharedZeros(Uint32Array, rows);
  for (let row = 0; row < rows; row++) length[row] = starts[row + 1] - starts[row];
  return { chunks: [bytes], columns: { chunkOf: sharedZeros(Uint16Array, rows), start, length } };
}
