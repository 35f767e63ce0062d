/**
 * Since when each record has been as it is: for each one, in the order of ids, the sequence of the generation
 * in which it appeared under its path, and of the one in which it last changed. The alternative titles of a game
 * are part of it.
 */
import { damaged } from '../../columns/checks.ts';
import { SINCE_INDEX } from '../layout.ts';
import { openIndexFile } from './index-file.ts';
import type { RecordIndex } from './record-index.ts';

/** The records of one kind: platforms in the order of their slugs, games and covers in that of their ids. */
export interface SinceColumns {
  readonly added: Uint32Array;
  /** Not before `added`. */
  readonly changed: Uint32Array;
}

/** The columns of `index/since.bin`. */
export interface Since {
  readonly platforms: SinceColumns;
  readonly games: SinceColumns;
  readonly covers: SinceColumns;
}

/** All records as if they had appeared in one generation. */
export function sinceGeneration(
  { platforms, games, covers }: RecordIndex,
  sequence: number,
): Since {
  const columns = (count: number): SinceColumns => ({
    added: new Uint32Array(count).fill(sequence),
    changed: new Uint32Array(count).fill(sequence),
  });
  return {
    platforms: columns(platforms.length),
    games: columns(games.numberOfId.length),
    covers: columns(covers.numberOfId.length),
  };
}

/**
 * @param contentOf returns the content of a file of the index by its name
 * @throws Error that names what is damaged
 */
export function openSince(
  contentOf: (name: string) => Uint8Array,
  { platforms, games, covers }: RecordIndex,
): Since {
  const { column } = openIndexFile(contentOf, SINCE_INDEX);
  const open = (name: string, count: number): SinceColumns => ({
    added: column(`${name}.added`, 'u32', count),
    changed: column(`${name}.changed`, 'u32', count),
  });
  return {
    platforms: open('platforms', platforms.length),
    games: open('games', games.numberOfId.length),
    covers: open('covers', covers.numberOfId.length),
  };
}

/** Checks all values. @param sequence of the generation @throws Error that names what is damaged */
export function checkSince(since: Since, sequence: number): void {
  for (const { added, changed } of [since.platforms, since.games, since.covers]) {
    for (let at = 0; at < added.length; at++) {
      if (added[at] > 0 && added[at] <= changed[at] && changed[at] <= sequence) continue;
      throw damaged(SINCE_INDEX, `a record appeared in ${added[at]} and changed in ${changed[at]}`);
    }
  }
}
