/**
 * Writes the files that find games by their titles: `index/words.bin` and `search.json` for a search, and
 * `index/match.bin` for `/match`. Each title is read and split into words once for all of them.
 */
import { textOfId } from '../../lib/format/index/ids.ts';
import { needsSlug, readingsOf } from '../../lib/format/index/readings.ts';
import { plainWordsOf } from '../../lib/format/index/words.ts';
import { MATCH_INDEX, MINISEARCH, WORD_INDEX } from '../../lib/format/layout.ts';
import type { ManifestFile } from '../../lib/format/manifest.ts';
import { makeGameItems } from '../order/items.ts';
import { LEFT_OUT } from '../read/catalogue.ts';
import { makeForms } from './match.ts';
import type { WriteSource } from './packs.ts';
import { makeWords } from './words.ts';

/** Links the files if no title, path, alternative title or id of another source has changed. */
export async function writeSearch(source: WriteSource): Promise<ManifestFile[]> {
  const { dir, games, numbering, titles, externalIds, earlier } = source;
  const { itemOfRank, numberOfGame, earlierGames, twins } = numbering;
  const link = (...names: string[]) => {
    if (!numbering.isSame || !titles.areSame) return undefined;
    const files = names.map((name) => earlier?.link(dir, name));
    return files.every((file) => file !== undefined) ? files : undefined;
  };
  const items = makeGameItems(games, earlier);
  const linkedWords = link(WORD_INDEX, MINISEARCH);
  const linkedForms = externalIds.areSame ? link(MATCH_INDEX) : undefined;
  const words = linkedWords ? undefined : makeWords(source, items);
  const forms = linkedForms ? undefined : makeForms(source, items);
  for (const [rank, item] of words || forms ? itemOfRank.entries() : []) {
    const game = numberOfGame[item];
    const before = item < earlierGames ? item : twins[item - earlierGames];
    if (titles.areSame && before !== LEFT_OUT) {
      words?.copy(rank, before);
      forms?.copy(game, before);
      continue;
    }
    const title = items.title(item);
    const slugOf = () => items.slug(item);
    // The first reading is that of the title, also if that has no words.
    const readings = readingsOf(title);
    if (readings.length === 0) readings.push([]);
    forms?.add(game, title, readings[0], slugOf);
    for (const other of (titles.of.size > 0 && titles.of.get(textOfId(items.id(item)))) || []) {
      const ofOther = readingsOf(other);
      readings.push(...ofOther);
      forms?.add(game, other, ofOther[0] ?? []);
    }
    words?.add(rank, readings, needsSlug(title) ? plainWordsOf(slugOf()) : undefined);
  }
  return [
    ...(linkedWords ?? (await words?.write()) ?? []),
    ...(linkedForms ?? [await forms?.write()]),
  ].filter((file) => file !== undefined);
}
