/**
 * Makes the files by which games are found from their titles: the words for a search, and the forms for file names.
 * Each title is read and split into words once for both. Games that were written before with the same titles and the
 * same slug are copied from the files of that run.
 */
import type { ColumnFile } from '../lib/columns/container.ts';
import { NONE } from '../lib/columns/numbers.ts';
import { makeForms, type OtherIds } from './match/write.ts';
import { makeWords, type WrittenWords } from './search/write.ts';
import { needsSlug, variantsOf } from './text/variants.ts';
import { plainWordsOf } from './text/words.ts';

/** The games, by their ranks: their indexes in title order. */
export interface TitledGames {
  /** The number of the game at each rank. Those of a platform follow one another, in title order. */
  readonly gameOfRank: Uint32Array;
  /** For each platform, the number of its first game, and at the end that of all games. */
  readonly firstGame: Uint32Array;
  title(rank: number): string;
  slug(rank: number): string;
  otherTitles(rank: number): readonly string[];
}

/** The files that an earlier run wrote. */
export interface EarlierTitles {
  words(): ColumnFile;
  match(): ColumnFile;
  /** For each rank, the number of the game that had the same titles and slug in that run, or none. */
  readonly sameGame: Uint32Array;
  /** The rank of each of its games. */
  readonly rank: Uint32Array;
  /** How many platforms it had. */
  readonly platforms: number;
}

/** Each file is made when it is asked for; undefined if it is not wanted. */
export interface TitleFiles {
  readonly words: (() => WrittenWords) | undefined;
  readonly match: ((ids: OtherIds) => object) | undefined;
}

/** Which of the files would be written again as they are. */
export function findUnchanged(isSame: {
  /** Whether the games have the same titles, alternative ones included, slugs, numbers and order. */
  readonly titles: boolean;
  readonly otherIds: boolean;
}): { readonly words: boolean; readonly match: boolean } {
  return { words: isSame.titles, match: isSame.titles && isSame.otherIds };
}

/** @param wanted which files are to be made */
export function writeTitles(
  games: TitledGames,
  earlier: EarlierTitles | undefined,
  wanted: { readonly words: boolean; readonly match: boolean },
): TitleFiles {
  const { gameOfRank, firstGame, otherTitles } = games;
  const before = earlier && { platforms: earlier.platforms, games: earlier.rank.length };
  const words = wanted.words
    ? makeWords(gameOfRank.length, before && { ...before, file: earlier.words })
    : undefined;
  const forms = wanted.match
    ? makeForms(firstGame, before && { ...before, file: earlier.match })
    : undefined;
  gameOfRank.forEach((game, rank) => {
    const same = earlier?.sameGame[rank] ?? NONE;
    if (earlier !== undefined && same !== NONE) {
      words?.copy(rank, earlier.rank[same]);
      forms?.copy(game, same);
      return;
    }
    const title = games.title(rank);
    const slugOf = () => games.slug(rank);
    // The first variant is that of the title, even if it has no words.
    const variants = variantsOf(title);
    if (variants.length === 0) variants.push([]);
    forms?.add(game, title, variants[0], slugOf);
    for (const other of otherTitles(rank)) {
      const ofOther = variantsOf(other);
      variants.push(...ofOther);
      forms?.add(game, other, ofOther[0] ?? []);
    }
    words?.add(rank, variants, needsSlug(title) ? plainWordsOf(slugOf()) : undefined);
  });
  return { words: words?.finish, match: forms?.finish };
}
