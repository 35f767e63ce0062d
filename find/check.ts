/**
 * Checks all values of the files of `search/` and `match/`, on which searches and matches rely: once, when files are
 * published or arrive.
 */
import type { ColumnFile } from '../lib/columns/container.ts';
import { checkMatch, openMatch } from './match/open.ts';
import { checkFilters, checkWords } from './search/check.ts';
import { openSearch, type SearchFiles } from './search/open.ts';

/** What must be known of the games that the files find. */
interface FoundGames {
  readonly platforms: readonly { readonly firstGame: number; readonly games: number }[];
  readonly games: { readonly rank: Uint32Array };
}

/** @throws Error that names the file and its first fault */
export function checkFind(
  files: SearchFiles & { readonly match: ColumnFile },
  { platforms, games }: FoundGames,
): void {
  const search = openSearch(files, games.rank.length);
  checkFilters(search, files.filters.name);
  checkWords(search, files.words.name);
  checkMatch(openMatch(files.match, platforms.length), platforms, files.match.name);
}
