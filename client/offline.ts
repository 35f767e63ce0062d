/**
 * What `cover-catalogue-client/offline` exports: search without a server, in the file `search.json` of a
 * snapshot. It needs the word rules with which the file was made, so it checks them first.
 */
import MiniSearch, { type QueryCombination } from 'minisearch';
import { MINISEARCH_OPTIONS, minisearchRules } from '../find/search/minisearch-options.ts';
import { equalWords } from '../find/text/equal-words.ts';
import { MOST_WORDS, nearSpellingDistance, wordsOf } from '../find/text/words.ts';

/** The members of a manifest that tell how its `search.json` was made. */
export interface SearchManifest {
  readonly minisearch_options: string;
  readonly unicode_version?: string;
}

export interface OfflineResult {
  /**
   * How titles match: with every word, with misspelled words, or with every word but one. Undefined if
   * none does.
   */
  readonly match: 'exact' | 'near' | 'partial' | undefined;
  /** The slugs of the games, such as `snes/chrono-trigger`, the best match first. */
  readonly games: string[];
}

export interface OfflineSearch {
  /** Finds games by words of their titles. The last word may be the beginning of a word. */
  search(q: string): OfflineResult;
}

/**
 * Opens a downloaded index.
 * @param searchJson the text of `search.json`
 * @param manifest of the same snapshot
 * @throws Error if this package has other word rules than the program that made the index
 */
export async function openSearch(
  searchJson: string,
  manifest: SearchManifest,
): Promise<OfflineSearch> {
  if ((await hashOfRules(manifest.unicode_version)) !== manifest.minisearch_options) {
    throw new Error(
      'search.json was made with other word rules. Install the version of cover-catalogue-client that belongs to this API.',
    );
  }
  const index = await MiniSearch.loadJSONAsync(searchJson, MINISEARCH_OPTIONS);

  function find(words: readonly string[], distanceOf: (word: string) => number): string[] {
    const queries = words.map((word, position) =>
      queryOf(word, distanceOf(word), position > 0, position === words.length - 1),
    );
    return index.search({ combineWith: 'AND', queries }).map(({ id }) => id);
  }

  return {
    search(q) {
      const words = wordsOf(q).slice(0, MOST_WORDS);
      if (words.length === 0) return { match: undefined, games: [] };
      const exact = find(words, asWritten);
      if (exact.length > 0) return { match: 'exact', games: exact };
      const near = find(words, nearSpellingDistance);
      if (near.length > 0) return { match: 'near', games: near };
      const parts = words.map((_, left) => words.filter((_, position) => position !== left));
      const partial = new Set(
        parts.flatMap((part) => (part.length > 0 ? find(part, asWritten) : [])),
      );
      return { match: partial.size > 0 ? 'partial' : undefined, games: [...partial] };
    },
  };
}

const asWritten = () => 0;

/** A query for a word or one that equals it, such as "7" and "vii". The last word may be a beginning. */
function queryOf(
  word: string,
  distance: number,
  isAfterTitle: boolean,
  isLast: boolean,
): QueryCombination {
  const others = equalWords(word, isAfterTitle).filter((one) => one !== word);
  const written = { queries: [word], fuzzy: distance, prefix: isLast };
  return { combineWith: 'OR', queries: [written, ...others] };
}

async function hashOfRules(unicodeVersion: string | undefined): Promise<string> {
  const rules = new TextEncoder().encode(minisearchRules(unicodeVersion));
  const digest = await crypto.subtle.digest('SHA-256', rules);
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
