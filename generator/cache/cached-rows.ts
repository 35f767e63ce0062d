/** Turns the rows that a run has read into columns for the row cache, and back. */
import type { TimedTable } from '../../database/schema.ts';
import { type Column, type Columns, column } from '../../format/index/columns.ts';
import { sharedZeros } from '../../format/index/shared-zeros.ts';
import type { Covers, Games } from '../columns/catalogue.ts';
import type { Ids } from '../columns/ids.ts';
import { makeTextWriter, type Texts } from '../columns/texts.ts';
import type { Files } from '../read/read-files.ts';
import type { CachedRows } from '../reuse/cached-rows.ts';
import type { Fingerprints } from '../reuse/fingerprints.ts';
import type { CachedTable } from '../reuse/plan-read.ts';

type TableColumns = Readonly<Record<TimedTable, Columns>>;

/** The values that are not columns, as JSON keeps them. */
export interface CachedValues {
  readonly genres: Games['genres'];
  readonly regions: Covers['regions'];
  readonly types: Covers['types'];
  readonly fingerprints: Readonly<
    Record<TimedTable, { shift: number; chunks: [chunk: number, text: string][] }>
  >;
}

export function encodeRows(
  games: Games,
  covers: Covers,
  files: Files,
  times: Readonly<Record<TimedTable, Float64Array>>,
  fingerprints: Readonly<Record<TimedTable, Fingerprints>>,
): { columns: TableColumns; values: CachedValues } {
  const gamesTo = <T extends { subarray(from: number, to: number): T }>(list: T) =>
    list.subarray(0, games.rows);
  const coversTo = <T extends { subarray(from: number, to: number): T }>(list: T) =>
    list.subarray(0, covers.rows);
  const plain = ({ shift, chunks }: Fingerprints) => ({ shift, chunks: [...chunks] });
  return {
    columns: {
      games: {
        ...idColumns(games.ids, games.rows),
        time: times.games,
        platform: gamesTo(games.platform),
        year: Int32Array.from(gamesTo(games.year)),
        genresOf: gamesTo(games.genresOf),
        headLength: gamesTo(games.headLength),
        ...textColumns('title', games.titles, games.rows),
        ...textColumns('slug', games.slugs, games.rows),
      },
      covers: {
        ...idColumns(covers.ids, covers.rows),
        time: times.covers,
        game: coversTo(covers.game),
        region: coversTo(covers.region),
        type: coversTo(covers.type),
        approvedAt: coversTo(covers.approvedAt),
      },
      cover_files: {
        ...idColumns(files.ids, files.rows),
        time: times.cover_files,
        cover: files.cover.subarray(0, files.rows),
      },
    },
    values: {
      genres: games.genres,
      regions: covers.regions,
      types: covers.types,
      fingerprints: {
        games: plain(fingerprints.games),
        covers: plain(fingerprints.covers),
        cover_files: plain(fingerprints.cover_files),
      },
    },
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

/** @throws Error if a column is missing */
export function decodeRows(columns: TableColumns, values: CachedValues): CachedRows {
  const of =
    (table: TimedTable) =>
    <T extends Column>(name: string, Type: new (length: number) => T): T =>
      column(columns[table], name, Type, table);
  const tableOf = (table: TimedTable): CachedTable => {
    const updated = of(table)('time', Float64Array);
    const { shift, chunks } = values.fingerprints[table];
    return {
      rows: updated.length,
      ids: { high: of(table)('idHigh', Uint32Array), low: of(table)('idLow', Uint32Array) },
      updated,
      fingerprints: { shift, chunks: new Map(chunks) },
    };
  };
  const tables = {
    games: tableOf('games'),
    covers: tableOf('covers'),
    cover_files: tableOf('cover_files'),
  };
  const [game, cover] = [of('games'), of('covers')];
  const { rows } = tables.games;
  return {
    tables,
    games: {
      rows,
      ids: tables.games.ids,
      platform: game('platform', Uint32Array),
      year: Int16Array.from(game('year', Int32Array)),
      genres: values.genres,
      genresOf: game('genresOf', Uint32Array),
      headStart: new Float64Array(0),
      headLength: game('headLength', Uint32Array),
      titles: textsOf(game('titleStart', Uint32Array), game('titleBytes', Uint8Array), rows),
      slugs: textsOf(game('slugStart', Uint32Array), game('slugBytes', Uint8Array), rows),
    },
    covers: {
      rows: tables.covers.rows,
      ids: tables.covers.ids,
      regions: values.regions,
      types: values.types,
      game: cover('game', Uint32Array),
      region: cover('region', Uint32Array),
      type: cover('type', Uint32Array),
      approvedAt: cover('approvedAt', Float64Array),
    },
    coverOfFile: of('cover_files')('cover', Uint32Array),
  };
}

function textsOf(starts: Uint32Array, bytes: Uint8Array, rows: number): Texts {
  const start = sharedZeros(Uint32Array, rows);
  const length = sharedZeros(Uint32Array, rows);
  for (let row = 0; row < rows; row++) {
    // Positions count from the start of the memory, which also has the other columns.
    start[row] = bytes.byteOffset + starts[row];
    length[row] = starts[row + 1] - starts[row];
  }
  return { chunks: [bytes], columns: { chunkOf: sharedZeros(Uint16Array, rows), start, length } };
}
