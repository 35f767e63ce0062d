/**
 * Writes the files that find games by their titles: `index/words.bin` and `search.json` for a search, and
 * `index/match.bin` for `/match`. Each title is read and split into words once for all of them.
 */

import { idOf } from '../generator/rows/ids.ts';
import { NONE } from '../generator/rows/numbers.ts';
import type { Output } from '../generator/write/file-writer.ts';
import { linkSame, type WriteSource } from '../generator/write/packs.ts';
import { encodeColumns } from '../lib/columns/container.ts';
import { textOfId } from '../lib/format/index/ids.ts';
import { MATCH_INDEX, MINISEARCH, WORD_INDEX } from '../lib/format/layout.ts';
import type { ManifestFile } from '../lib/format/manifest.ts';
import { makeForms } from './match/write.ts';
import { makeWords } from './search/write.ts';
import { needsSlug, variantsOf } from './text/variants.ts';
import { plainWordsOf } from './text/words.ts';

export async function writeSearch(output: Output, source: WriteSource): Promise<ManifestFile[]> {
  const { games, numbering, titles, hasSameTitles } = source;
  /** Links all of some files, which are written together, or none. */
  const link = (...names: string[]): ManifestFile[] => {
    const files = names.flatMap((name) => linkSame(source, name) ?? []);
    if (files.length === names.length) return files;
    for (const { path: name } of files) output.remove(name);
    return [];
  };
  const linkedWords = link(WORD_INDEX, MINISEARCH);
  const linkedForms = link(MATCH_INDEX);
  const words = linkedWords.length > 0 ? undefined : makeWords(output, source);
  const forms = linkedForms.length > 0 ? undefined : makeForms(source);
  numbering.itemOfRank.forEach((item, rank) => {
    const game = numbering.gameOfRank[rank];
    const sameNamed = hasSameTitles ? games.sameNamed[item] : NONE;
    if (sameNamed !== NONE) {
      words?.copy(rank, sameNamed);
      forms?.copy(game, sameNamed);
      return;
    }
    const title = games.title(item);
    const slugOf = () => games.slug(item);
    // The first variant is that of the title, even if it has no words.
    const variants = variantsOf(title);
    if (variants.length === 0) variants.push([]);
    forms?.add(game, title, variants[0], slugOf);
    for (const other of (titles.size > 0 && titles.get(textOfId(idOf(games.ids, item)))) || []) {
      const ofOther = variantsOf(other);
      variants.push(...ofOther);
      forms?.add(game, other, ofOther[0] ?? []);
    }
    words?.add(rank, variants, needsSlug(title) ? plainWordsOf(slugOf()) : undefined);
  });
  return [
    ...((await words?.write()) ?? linkedWords),
    ...(forms ? [await output.write(MATCH_INDEX, encodeColumns(forms.columns()))] : linkedForms),
  ];
}
