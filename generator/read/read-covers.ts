/** Reads the covers into columns. */
import { type Covers, type Games, LEFT_OUT } from '../columns/catalogue.ts';
import { findId, isUsualForm, valueOfId } from '../columns/ids.ts';
import { growingColumns } from '../columns/row-columns.ts';
import type { Report } from '../report/report.ts';
import { RowFault } from '../report/row-fault.ts';
import { idOfRow } from '../reuse/plan-read.ts';
import { makeStatusCheck } from './cover-status.ts';
import { type KnownRows, READ_AGAIN, type ReadTable } from './read-table.ts';
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
  /** The row in this run of one of its games, or LEFT_OUT. */
  rowOfGame(cachedRow: number): number;
}

export async function readCovers(
  read: ReadTable,
  report: Report,
  games: Games,
  cached?: CachedCovers,
): Promise<Covers> {
  const { ids, add, addCached, rows } = makeIds();
  const { columns, reserve } = growingColumns(COVER_COLUMN_TYPES);
  const regions = makeRepeatedValues(cached?.covers.regions);
  const types = makeRepeatedValues(cached?.covers.types);
  const isApproved = makeStatusCheck();
  let lastGame = 0;

  const takeCached = ({ covers, games: cachedGames, rowOfGame }: CachedCovers): KnownRows => ({
    isAffected: findAffected(covers, games, rowOfGame),
    takeAll(from, to) {
      const row = addCached(covers.ids, from, to);
      reserve(row + to - from - 1);
      for (const name of ['region', 'type', 'approvedAt'] as const) {
        columns[name].set(covers[name].subarray(from, to), row);
      }
      for (let at = from; at < to; at++) {
        const cachedGame = covers.game[at];
        // LEFT_OUT means not approved here: a cover left out for another reason is always read again.
        columns.game[row + at - from] = cachedGame === LEFT_OUT ? LEFT_OUT : rowOfGame(cachedGame);
      }
    },
    takeAffected(cachedRow) {
      const row = addCached(covers.ids, cachedRow, cachedRow + 1);
      reserve(row);
      columns.game[row] = LEFT_OUT;
      const cachedGame = covers.game[cachedRow];
      if (rowOfGame(cachedGame) === LEFT_OUT) {
        throw new RowFault(
          'the game does not exist',
          valueOfId(idOfRow(cachedGames.ids, cachedGame)),
          true,
        );
      }
      report.addConsequence();
      return READ_AGAIN;
    },
  });

  await read(
    'covers',
    COVER_COLUMNS,
    (row, id, note) => {
      const index = add(id);
      reserve(index);
      columns.game[index] = LEFT_OUT;
      if (!isApproved(row[4], note)) return undefined;
      const gameId = check.checkId(row[1], 'game_id');
      const game = findId(games.ids, games.rows, gameId, lastGame);
      if (game < 0) throw new RowFault('the game does not exist', row[1], true);
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
      return isUsualForm(row[1], gameId) ? undefined : READ_AGAIN;
    },
    cached && takeCached(cached),
  );
  return {
    rows: rows(),
    ids,
    regions: regions.values(),
    types: types.values(),
    ...columns,
  };
}

/** For each cached cover: 1 if it was published, and its game is gone or left out now. */
function findAffected(
  { rows, game }: Covers,
  games: Games,
  rowOfGame: CachedCovers['rowOfGame'],
): Uint8Array {
  const isAffected = new Uint8Array(rows);
  for (let row = 0; row < rows; row++) {
    if (game[row] === LEFT_OUT) continue;
    const now = rowOfGame(game[row]);
    if (now === LEFT_OUT || games.platform[now] === LEFT_OUT) isAffected[row] = 1;
  }
  return isAffected;
}
