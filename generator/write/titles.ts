/** Writes the files that find games by their titles, or links them. */
import { type TitleFiles, writeTitles } from '../../find/write.ts';
import { numbersOf, through } from '../../lib/columns/columns.ts';
import { at, type Rank } from '../../lib/columns/numbers.ts';
import { textOfId } from '../../lib/format/index/ids.ts';
import { encodeIndex, openIndexFile } from '../../lib/format/index/index-file.ts';
import { MATCH_INDEX, MINISEARCH, WORD_INDEX } from '../../lib/format/layout.ts';
import type { ManifestFile } from '../../lib/format/manifest.ts';
import { idOf } from '../rows/ids.ts';
import type { Output } from './file-writer.ts';
import { linkSame, type WriteSource } from './packs.ts';

export async function writeTitleFiles(
  output: Output,
  source: WriteSource,
): Promise<ManifestFile[]> {
  /** Links all of some files, which are written together, or none. */
  const link = (...names: string[]): ManifestFile[] => {
    const files = names.flatMap((name) => linkSame(source, name) ?? []);
    if (files.length === names.length) return files;
    for (const { path: name } of files) output.remove(name);
    return [];
  };
  const linkedWords = link(WORD_INDEX, MINISEARCH);
  const linkedForms = link(MATCH_INDEX);
  const { words, match } = collectTitles(source, {
    words: linkedWords.length === 0,
    match: linkedForms.length === 0,
  });
  const files = [...linkedWords, ...linkedForms];
  if (words !== undefined) {
    const { columns, miniSearch } = words();
    files.push(await output.write(WORD_INDEX, encodeIndex(columns)));
    files.push(await output.write(MINISEARCH, miniSearch(pathsOf(source))));
  }
  if (match !== undefined) {
    const ids = { ofGames: numbersById(source), ofPlatforms: source.externalIds.ofPlatforms };
    files.push(await output.write(MATCH_INDEX, encodeIndex(match(ids))));
  }
  return files;
}

function collectTitles(
  { games, numbering, titles, stored, hasSameTitles }: WriteSource,
  wanted: Parameters<typeof writeTitles>[2],
): TitleFiles {
  const { itemOfRank, gameOfRank, firstGame } = numbering;
  const itemAt = (rank: number) => itemOfRank[at<Rank>(rank)];
  const earlier =
    stored === undefined || !hasSameTitles
      ? undefined
      : {
          words: () => openIndexFile(stored.read, WORD_INDEX),
          match: () => openIndexFile(stored.read, MATCH_INDEX),
          sameGame: numbersOf(through(itemOfRank, games.sameNamed)),
          rank: stored.index.games.rank,
          platforms: stored.index.platforms.length,
        };
  return writeTitles(
    {
      gameOfRank: numbersOf(gameOfRank),
      firstGame: numbersOf(firstGame),
      title: (rank) => games.title(itemAt(rank)),
      slug: (rank) => games.slug(itemAt(rank)),
      otherTitles: (rank) =>
        (titles.size > 0 && titles.get(textOfId(idOf(games.ids, itemAt(rank))))) || [],
    },
    earlier,
    wanted,
  );
}

/** @returns a function that returns the path of the game at a rank, which is its id in `search.json` */
function pathsOf({ platforms, games, numbering }: WriteSource): (rank: number) => string {
  return (rank) => {
    const game = numbering.itemOfRank[at<Rank>(rank)];
    return `${platforms[games.platform[game]].slug}/${games.slug(game)}`;
  };
}

/** For each id of another source, the numbers of the games that have it, in ascending order. */
function numbersById({ games, numbering, externalIds: { ofGames } }: WriteSource) {
  const numbers = new Map<string, number>();
  if (ofGames.size > 0)
    numbering.itemOfGame.forEach((item, number) => {
      numbers.set(textOfId(idOf(games.ids, item)), number);
    });
  const found = new Map<string, number[]>();
  for (const [key, ids] of ofGames)
    found.set(
      key,
      ids.flatMap((id) => numbers.get(id) ?? []).sort((a, b) => a - b),
    );
  return found;
}
