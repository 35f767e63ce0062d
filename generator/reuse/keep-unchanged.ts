/**
 * Of the games that were read, keeps those whose records have not changed: a block has about 16 games, which may
 * be on as many platforms, and usually one of them has changed.
 */
import { hashBytes } from '../../lib/format/content-hash.ts';
import { findById, type Id, type IdColumns } from '../../lib/format/index/ids.ts';
import type { RecordColumns } from '../../lib/format/index/record-index.ts';
import { type Files, LEFT_OUT } from '../read/catalogue.ts';
import {
  makeCoverRecords,
  makeGameRecords,
  type RecordSource,
  type RecordTarget,
} from '../write/records.ts';
import type { EarlierGeneration } from './earlier-generation.ts';

/** Afterwards, the rows of these games and their covers count as left out, and the games as kept. */
export function keepUnchanged(
  { index, isKept }: EarlierGeneration,
  source: RecordSource & { readonly files: Files },
): void {
  const { games, covers } = source;
  const addGame = makeGameRecords(source);
  const addCover = makeCoverRecords(source);
  const target = makeTarget();
  /** The number of the record with an id if it is the one that `add` writes; otherwise undefined. */
  const findSame = (columns: RecordColumns & IdColumns, id: Id, add: () => void) => {
    const number = findById(columns, id);
    if (number === undefined) return undefined;
    target.at = 0;
    add();
    const [high, low] = hashBytes(target.buffer.subarray(0, target.at));
    const { hash } = columns;
    return high === hash[number * 2] && low === hash[number * 2 + 1] ? number : undefined;
  };
  const coverCount = new Uint32Array(games.rows);
  const hasChange = new Uint8Array(games.rows);
  for (let row = 0; row < covers.rows; row++) {
    const game = covers.game[row];
    if (game === LEFT_OUT) continue;
    coverCount[game]++;
    const id: Id = [covers.ids.high[row], covers.ids.low[row]];
    if (findSame(index.covers, id, () => addCover(target, row)) === undefined) hasChange[game] = 1;
  }
  for (let row = 0; row < games.rows; row++) {
    if (games.platform[row] === LEFT_OUT || hasChange[row] === 1) continue;
    const id: Id = [games.ids.high[row], games.ids.low[row]];
    // The record has the number of covers, too.
    const number = findSame(index.games, id, () => addGame(target, row, coverCount[row]));
    if (number === undefined) hasChange[row] = 1;
    else isKept[number] = 1;
  }
  for (let row = 0; row < covers.rows; row++)
    if (covers.game[row] !== LEFT_OUT && hasChange[covers.game[row]] === 0)
      covers.game[row] = LEFT_OUT;
  for (let row = 0; row < games.rows; row++)
    if (hasChange[row] === 0) games.platform[row] = LEFT_OUT;
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
