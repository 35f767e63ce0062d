/**
 * Finds which rows would get a record that is stored in the earlier generation. A block has about 16 games, and
 * usually one of them has changed.
 */

import type { Column } from '../../lib/columns/columns.ts';
import { indexesOf, makeColumn, numbersOf } from '../../lib/columns/columns.ts';
import { NONE } from '../../lib/columns/numbers.ts';
import { findById, type IdColumns } from '../../lib/format/index/ids.ts';
import { gameSlug, platformOf, type RecordColumns } from '../../lib/format/index/record-index.ts';
import type { CoverRow, GameRow, RecordTarget, Rows } from '../rows/catalogue.ts';
import { type Ids, idOf } from '../rows/ids.ts';
import { type RecordWriter, slugOf, titleOf } from '../rows/records.ts';
import { hasHash, type StoredGeneration } from './stored-generation.ts';

/** For each row, the number of a stored game or cover, or none. */
export interface StoredNumbers {
  /** One that has the same record. */
  readonly games: Column<GameRow, number>;
  readonly covers: Column<CoverRow, number>;
  /** One that has the same path, id and title. */
  readonly sameNamed: Column<GameRow, number>;
  /** Whether the rows have all records of the generation that are not kept, and no others. */
  readonly areAll: boolean;
}

export function findStored(
  stored: StoredGeneration | undefined,
  rows: Rows,
  records: RecordWriter,
): StoredNumbers {
  const { games, covers } = rows;
  const found = {
    games: makeColumn<GameRow, number>(games.count, NONE),
    covers: makeColumn<CoverRow, number>(covers.count, NONE),
    sameNamed: makeColumn<GameRow, number>(games.count, NONE),
  };
  if (stored === undefined) return { ...found, areAll: false };
  const { index } = stored;
  const coverCount = new Uint32Array(games.count);
  for (const game of covers.game) if (game !== NONE) coverCount[game]++;
  const sameGames = findSame(index.games, games.platform, games.ids, found.games, (target, row) =>
    records.addGame(target, row, coverCount[row]),
  );
  const sameCovers = findSame(index.covers, covers.game, covers.ids, found.covers, (target, row) =>
    records.addCover(target, row),
  );
  for (const row of indexesOf(games.platform)) {
    const number = findById(index.games, idOf(games.ids, row));
    const hasSameNames =
      number !== undefined &&
      (found.games[row] === number ||
        (platformOf(index.platforms, 'firstGame', number) === games.platform[row] &&
          gameSlug(index, number) === slugOf(games, row) &&
          stored.title(number) === titleOf(games, row)));
    if (hasSameNames) found.sameNamed[row] = number;
  }
  const { firstCover } = index.games;
  let [otherGames, otherCovers] = [0, 0];
  stored.isKept.forEach((kept, game) => {
    if (kept === 1) return;
    otherGames++;
    otherCovers += firstCover[game + 1] - firstCover[game];
  });
  return { ...found, areAll: sameGames === otherGames && sameCovers === otherCovers };
}

/**
 * Finds the stored record of each published row that would get the same one.
 * @param add writes the record of a row @returns how many there are; NaN if a row would get another one
 */
function findSame<Row extends number>(
  columns: RecordColumns & IdColumns,
  parentOf: Column<Row, number>,
  ids: Ids<Row>,
  found: Column<Row, number>,
  add: (target: RecordTarget, row: Row) => void,
): number {
  const target = makeTarget();
  let same = 0;
  for (const row of indexesOf(parentOf)) {
    const number = findById(columns, idOf(ids, row));
    target.at = 0;
    if (number !== undefined) add(target, row);
    const record = target.buffer.subarray(0, target.at);
    if (number === undefined || !hasHash(record, columns.hash, number)) {
      same = Number.NaN;
      continue;
    }
    numbersOf(found)[row] = number;
    same++;
  }
  return same;
}

function makeTarget(): RecordTarget {
  let buffer: Buffer = Buffer.alloc(64 * 1024);
  return {
    get buffer() {
      return buffer;
    },
    at: 0,
    reserve(bytes) {
      if (bytes > buffer.length) buffer = Buffer.alloc(bytes * 2);
    },
  };
}
