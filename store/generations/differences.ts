/**
 * Compares two generations: which records were added, changed and removed. A record has changed if its
 * bytes have. Only the indexes are read, because they contain the content hash of every record.
 */
import { idAt } from '../../format/index/ids.ts';
import { gameSlug, type RecordColumns, type RecordIndex } from '../../format/index/record-index.ts';
import { openIndexOf } from './open-index.ts';

export interface Changes {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

export interface Differences {
  /** API paths, such as "/games/snes/chrono-trigger". */
  readonly games: Changes;
  /** API paths, such as "/covers/123". */
  readonly covers: Changes;
}

/**
 * @param from the folder of the earlier generation
 * @param to the folder of the later generation
 */
export function findDifferences(from: string, to: string): Differences {
  const before = openIndexOf(from);
  const after = openIndexOf(to);
  return {
    games: compare(gamePaths(before), before.games, gamePaths(after), after.games),
    covers: compare(coverPaths(before), before.covers, coverPaths(after), after.covers),
  };
}

/** Maps the path of each record to the number of the record. */
type Numbers = ReadonlyMap<string, number>;

function compare(
  before: Numbers,
  { hash: oldHash }: RecordColumns,
  after: Numbers,
  { hash: newHash }: RecordColumns,
): Changes {
  const added: string[] = [];
  const changed: string[] = [];
  for (const [path, number] of after) {
    const old = before.get(path);
    if (old === undefined) added.push(path);
    else if (
      oldHash[old * 2] !== newHash[number * 2] ||
      oldHash[old * 2 + 1] !== newHash[number * 2 + 1]
    ) {
      changed.push(path);
    }
  }
  const removed = [...before.keys()].filter((path) => !after.has(path));
  return { added, changed, removed };
}

function gamePaths(index: RecordIndex): Numbers {
  const numbers = new Map<string, number>();
  for (const { slug, first_game, games } of index.platforms) {
    for (let game = first_game; game < first_game + games; game++) {
      numbers.set(`/games/${slug}/${gameSlug(index, game)}`, game);
    }
  }
  return numbers;
}

function coverPaths({ covers }: RecordIndex): Numbers {
  const numbers = new Map<string, number>();
  covers.numberOfId.forEach((cover, position) => {
    const [high, low] = idAt(covers, position);
    numbers.set(`/covers/${(BigInt(high) << 32n) | BigInt(low)}`, cover);
  });
  return numbers;
}
