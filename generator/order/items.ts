/**
 * The games and covers of a run as items: first those of the earlier generation by their earlier numbers, of
 * which some are kept, then the rows that were read. If all rows were read, items are rows.
 */
import type { Id } from '../../lib/format/index/ids.ts';
import { gameSlug } from '../../lib/format/index/record-index.ts';
import { groupsOf } from '../columns.ts';
import type { Games } from '../read/catalogue.ts';
import type { EarlierGeneration } from '../reuse/earlier-generation.ts';
import { makeRecordWriter } from '../write/records.ts';

/** What is known of each game. */
export interface GameItems {
  platform(item: number): number;
  id(item: number): Id;
  slug(item: number): string;
  title(item: number): string;
}

export function makeGameItems(games: Games, earlier: EarlierGeneration | undefined): GameItems {
  const records = makeRecordWriter(games);
  const ofRows: GameItems = {
    platform: (row) => games.platform[row],
    id: (row) => [games.ids.high[row], games.ids.low[row]],
    slug: records.slug,
    title: records.title,
  };
  if (earlier === undefined) return ofRows;
  const first = earlier.isKept.length;
  const platformOf = groupsOf(
    Uint32Array.from([...earlier.index.platforms.map(({ firstGame }) => firstGame), first]),
  );
  let ids: ReturnType<EarlierGeneration['ids']> | undefined;
  const either =
    <T>(ofEarlier: (number: number) => T, ofRow: (row: number) => T) =>
    (item: number) =>
      item < first ? ofEarlier(item) : ofRow(item - first);
  return {
    platform: either((number) => platformOf[number], ofRows.platform),
    id: either((number) => {
      ids ??= earlier.ids();
      return [ids.high[number], ids.low[number]];
    }, ofRows.id),
    slug: either((number) => gameSlug(earlier.index, number), ofRows.slug),
    title: either(earlier.title, ofRows.title),
  };
}
