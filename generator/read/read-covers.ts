/** Reads the covers into columns. */
import { type Covers, type Games, LEFT_OUT } from '../columns/catalogue.ts';
import { findId, valueOfId } from '../columns/ids.ts';
import { growingColumns } from '../columns/row-columns.ts';
import type { Report } from '../report/report.ts';
import { RowFault } from '../report/row-fault.ts';
import { makeStatusCheck } from './cover-status.ts';
import { READ_AGAIN, type ReadTable } from './read-table.ts';
import { makeRepeatedValues } from './repeated-values.ts';
import * as check from './row-checks.ts';
import { makeIds } from './table-ids.ts';

const COVER_COLUMN_TYPES = {
  game: Uint32Array,
  region: Uint32Array,
  type: Uint32Array,
  approvedAt: Float64Array,
};

export const COVER_COLUMNS = 'id, game_id, region, type, status, approved_at';

/** The covers of an earlier run. */
export interface CachedCovers {
  readonly covers: Covers;
  /** The games of that run. */
  readonly games: Games;
  /** For each of its games, the row in this run, or LEFT_OUT. */
  readonly rowOfGame: Uint32Array;
}

export async function readCovers(
  read: ReadTable,
  report: Report,
  games: Games,
  cached?: CachedCovers,
): Promise<Covers> {
  const { ids, add, addCached, rows } = makeIds();
  const { columns, reserve } = growingColumns(COVER_COLUMN_TYPES);
  const regions = makeRepeatedValues();
  const types = makeRepeatedValues();
  const isApproved = makeStatusCheck();
  let lastGame = 0;

  const makeCachedCover =
    ({ covers, games: cachedGames, rowOfGame }: CachedCovers) =>
    (cachedRow: number) => {
      const index = addCached(covers.ids, cachedRow);
      reserve(index);
      columns.game[index] = LEFT_OUT;
      const cachedGame = covers.game[cachedRow];
      // Not approved: every other cover that was left out is read again.
      if (cachedGame === LEFT_OUT) return undefined;
      const game = rowOfGame[cachedGame];
      if (game === LEFT_OUT) {
        const { high, low } = cachedGames.ids;
        throw new RowFault(
          'the game does not exist',
          valueOfId([high[cachedGame], low[cachedGame]]),
        );
      }
      if (games.platform[game] === LEFT_OUT) {
        report.addConsequence();
        return READ_AGAIN;
      }
      const region = covers.regions[covers.region[cachedRow]];
      const type = covers.types[covers.type[cachedRow]];
      columns.game[index] = game;
      columns.region[index] = regions.numberOf(region ?? null, 'region', () => {});
      columns.type[index] = types.numberOf(type ?? null, 'type', () => {});
      columns.approvedAt[index] = covers.approvedAt[cachedRow];
      return undefined;
    };

  await read(
    'covers',
    COVER_COLUMNS,
    (row, id, note) => {
      const index = add(id);
      reserve(index);
      columns.game[index] = LEFT_OUT;
      if (!isApproved(row[4])) return undefined;
      const gameId = check.checkId(row[1], 'game_id');
      const game = findId(games.ids, games.rows, gameId, lastGame);
      if (game < 0) throw new RowFault('the game does not exist', row[1]);
      lastGame = game;
      const region = regions.numberOf(row[2], 'region', note);
      const type = types.numberOf(row[3], 'type', note);
      const approvedAt = check.checkOptionalTime(row[5], 'approved_at');
      if (games.platform[game] === LEFT_OUT) {
        report.addConsequence();
        return READ_AGAIN;
      }
      if (Number.isNaN(approvedAt) && row[5] !== null) {
        note('approved_at is zero or empty: served as null, and not among the recent ones', row[5]);
      }
      columns.game[index] = game;
      columns.region[index] = region;
      columns.type[index] = type;
      columns.approvedAt[index] = approvedAt;
      // Without its text, the next run could not report another form of this id.
      return row[1] === valueOfId(gameId) ? undefined : READ_AGAIN;
    },
    cached && makeCachedCover(cached),
  );
  return {
    rows: rows(),
    ids,
    regions: regions.values(),
    types: types.values(),
    ...columns,
  };
}
