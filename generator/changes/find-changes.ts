/** Finds the blocks of rows that have changed since the run before. */
import type { SnapshotReader } from '../../database/database.ts';
import { splitId } from '../../format/index/ids.ts';
import type { EarlierRun } from './earlier-run.ts';
import {
  type AllFingerprints,
  blockOf,
  differingBlocks,
  type Fingerprints,
  GROUPS,
  type Group,
  hadNoCommit,
  rangesOf,
  readFingerprints,
  readLastCommits,
  rowsIn,
} from './fingerprints.ts';

/** The blocks that a run must read, and all fingerprints now. */
export interface Changes {
  readonly games: ReadonlySet<string>;
  /** The blocks of files in which a file, or a cover with files, may be new or gone. */
  readonly files: ReadonlySet<string>;
  readonly fingerprints: AllFingerprints;
}

/** To read more than this share of the games in blocks would take longer than to read all rows. */
const LARGEST_SHARE_READ = 0.35;
const FEWEST_GAMES_READ = 2_000;

/**
 * @param platforms all platforms, as a text to compare
 * @param now the time of the database, in seconds since 1970
 * @throws Error if so much has changed that all rows must be read
 */
export async function findChanges(
  reader: SnapshotReader,
  earlier: EarlierRun,
  platforms: string,
  now: number,
): Promise<Changes> {
  if (platforms !== earlier.platforms) throw new Error('the platforms have changed');
  const { shifts } = earlier;
  const commits = await readLastCommits(reader);
  const fingerprints: Partial<Record<Group, Fingerprints>> = {};
  const changed: Partial<Record<Group, readonly string[]>> = {};
  for (const group of GROUPS) {
    const before = earlier.fingerprints[group];
    const isSameTable = hadNoCommit(group, earlier.commits, commits);
    if (isSameTable || (group === 'cover_ids' && changed.covers?.length === 0)) {
      fingerprints[group] = before;
      changed[group] = [];
      continue;
    }
    const after = await readFingerprints(reader, group, shifts, now);
    fingerprints[group] = after;
    changed[group] = differingBlocks(before, after);
  }
  const { games = [], covers = [], cover_files = [], cover_ids = [] } = changed;
  const all = fingerprints as AllFingerprints;
  const blocks = new Set([...games, ...covers]);
  const files = new Set([...cover_files, ...cover_ids]);
  for (const condition of rangesOf('cover_ids', cover_files, shifts)) {
    const found = await reader.rows(`SELECT DISTINCT game_id FROM covers WHERE ${condition}`);
    for (const [game] of found) {
      const id = splitId(String(game));
      if (id !== undefined) blocks.add(blockOf(id, shifts.game));
    }
  }
  if (blocks.size + files.size > 0) for (const block of earlier.dependentBlocks) blocks.add(block);
  const rows = (list: Iterable<string>) => {
    let sum = 0;
    for (const block of list) sum += rowsIn(all.games[block]);
    return sum;
  };
  const most = Math.max(FEWEST_GAMES_READ, rows(Object.keys(all.games)) * LARGEST_SHARE_READ);
  if (rows(blocks) > most) throw new Error('too many rows have changed');
  return { games: blocks, files, fingerprints: all };
}
