/**
 * The interface of an engine whose answers are judged, and what each engine is given: one entry for
 * each game, its texts already split into words, because most engines split and fold them worse.
 */
import { wordsOf } from '../../../../format/index/words.ts';
import type { Find } from '../../../proxy/search/judged/quality.ts';
import { readDocuments } from '../documents.ts';

export interface JudgedEngine {
  readonly find: Find;
  close(): void | Promise<void>;
}

export interface JudgedEntry {
  readonly name: string;
  /** Its configuration, in a sentence or two. */
  readonly note: string;
  /** @param folder of `prepareCatalogue` */
  readonly open: (folder: string) => JudgedEngine | Promise<JudgedEngine>;
}

/** Its texts are folded words, separated by spaces. */
export interface Entry {
  /** `<platform slug>/<game slug>` */
  readonly path: string;
  /** The title; if it has no Latin letters, followed by the slug. */
  readonly title: string;
  readonly slug: string;
  /** The slug and the name of the platform. */
  readonly platform: string;
  /** How many approved covers it has. */
  readonly covers: number;
}

/** How much the logarithm of the number of covers counts, for engines that can weight a game. */
export const COVERS_WEIGHT = 0.05;

const LATIN = /\p{Script=Latin}/u;

/** @returns the entries in title order */
export function readEntries(folder: string): Entry[] {
  return [...readDocuments(folder)].map(({ path, title, platform, platformName, covers }) => {
    const slug = foldedWords(path.slice(platform.length + 1));
    return {
      path,
      title: LATIN.test(title) ? foldedWords(title) : `${foldedWords(title)} ${slug}`,
      slug,
      platform: foldedWords(`${platform} ${platformName}`),
      covers,
    };
  });
}

export function foldedWords(text: string): string {
  return wordsOf(text).join(' ');
}
