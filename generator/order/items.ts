/**
 * The games and covers of a run as items: first those of the earlier generation by their earlier numbers, of
 * which some are kept, then the rows that were read. If all rows were read, items are rows.
 */
import type { Id } from '../../format/index/ids.ts';
import { gameSlug } from '../../format/index/record-index.ts';
import type { EarlierGeneration } from '../changes/earlier-generation.ts';
import type { Games } from '../read/catalogue.ts';
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
  const { platforms } = earlier.index;
  const platformOf = new Uint32Array(first);
  for (const [platform, { first_game, games: count }] of platforms.entries())
    platformOf.fill(platform, first_game, first_game + count);
  let ids: ReturnType<EarlierGeneration['ids']> | undefined;
  const ofEarlier: GameItems = {
    platform: (number) => platformOf[number],
    id(number) {
      ids ??= earlier.ids();
      return [ids.high[number], ids.low[number]];
    },
    slug: (number) => gameSlug(earlier.index, number),
    title: earlier.title,
  };
  return {
    platform: (item) => (item < first ? ofEarlier.platform(item) : ofRows.platform(item - first)),
    id: (item) => (item < first ? ofEarlier.id(item) : ofRows.id(item - first)),
    slug: (item) => (item < first ? ofEarlier.slug(item) : ofRows.slug(item - first)),
    title: (item) => (item < first ? ofEarlier.title(item) : ofRows.title(item - first)),
  };
}
