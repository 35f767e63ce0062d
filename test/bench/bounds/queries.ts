/** What a full run reads of each large table. */
import { TIMED_TABLES, type TimedTable } from '../../../database/schema.ts';
import { COVER_COLUMNS } from '../../../generator/read/read-covers.ts';
import { FILE_COLUMNS, GAME_COLUMNS } from '../../../generator/read/records.ts';
import { TIME_COLUMN } from '../../../generator/reuse/row-tracks.ts';

const COLUMNS: Readonly<Record<TimedTable, string>> = {
  games: GAME_COLUMNS,
  covers: COVER_COLUMNS,
  cover_files: FILE_COLUMNS,
};

export const QUERIES = TIMED_TABLES.map((table) => ({
  table,
  columns: [...COLUMNS[table].split(', '), TIME_COLUMN],
}));
