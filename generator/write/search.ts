/**
 * Writes the files that find games by their titles: `index/words.bin` and `search.json` for a search, and
 * `index/match.bin` for `/match`. Each title is read and split into words once for all of them.
 */
import { needsSlug, readingsOf } from '../../lib/format/index/readings.ts';
import { plainWordsOf } from '../../lib/format/index/words.ts';
import { MATCH_INDEX, MINISEARCH, WORD_INDEX } from '../../lib/format/layout.ts';
import type { ManifestFile } from '../../lib/format/manifest.ts';
import { type GameItem, type GameNumber, NONE, type Rank } from '../rows/columns.ts';
import { openNames } from '../rows/names.ts';
import type { Output } from './file-writer.ts';
import { makeForms } from './match.ts';
import type { WriteSource } from './packs.ts';
import { makeWords } from './words.ts';

export async function writeSearch(output: Output, source: WriteSource): Promise<ManifestFile[]> {
  const { games, numbering, titles, stored } = source;
  const link = (...names: string[]) => {
    const files = names.map((name) => stored?.link(name));
    return files.every((file) => file !== undefined) ? files : undefined;
  };
  const linkedWords = link(WORD_INDEX, MINISEARCH);
  const linkedForms = link(MATCH_INDEX);
  const words = linkedWords ? undefined : makeWords(output, source);
  const forms = linkedForms ? undefined : makeForms(output, source);
  const { slug, title: titleOf, idText } = openNames(games, stored);
  const add = (game: GameNumber, item: GameItem, rank: Rank) => {
    if (stored?.hasReadings(item)) {
      words?.copy(rank, item);
      forms?.copy(game, item);
      return;
    }
    const title = titleOf(item);
    const slugOf = () => slug(item);
    // The first reading is that of the title, also if that has no words.
    const readings = readingsOf(title);
    if (readings.length === 0) readings.push([]);
    forms?.add(game, title, readings[0], slugOf);
    for (const other of (titles.size > 0 && titles.get(idText(item))) || []) {
      const ofOther = readingsOf(other);
      readings.push(...ofOther);
      forms?.add(game, other, ofOther[0] ?? []);
    }
    words?.add(rank, readings, needsSlug(title) ? plainWordsOf(slugOf()) : undefined);
  };
  if (words || forms)
    numbering.itemOfRank.forEach((item, rank) => {
      const game = numbering.numberOfGame[item];
      if (game !== NONE) add(game, item, rank);
    });
  return [
    ...(linkedWords ?? (await words?.write()) ?? []),
    ...(linkedForms ?? [await forms?.write()]),
  ].filter((file) => file !== undefined);
}
