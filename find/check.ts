/**
 * Checks all values of the files of `search/` and `match/`, on which searches and matches rely: once, when files are
 * published or arrive.
 */
import type { ColumnFile } from '../lib/columns/container.ts';
import { checkMatch, openMatch } from './match/open.ts';
import { checkFilters, checkWords } from './search/check.ts';
import { openFilters, openWords, type SearchFiles } from './search/open.ts';

/** What must be known of the games that the files find. */
interface FoundGames {
  readonly platforms: readonly { readonly firstGame: number; readonly games: number }[];
  readonly games: { readonly rank: Uint32Array };
}

/** @param files those to check @throws Error that names the file and its first fault */
export function checkFind(
  { words, filters, match }: Partial<SearchFiles & { readonly match: ColumnFile }>,
  { platforms, games: { rank } }: FoundGames,
): void {
  const games = rank.length;
  if (filters) checkFilters({ games, ...openFilters(filters, games) }, filters.name);
  if (words) checkWords({ games, ...openWords(words, games) }, words.name);
  if (match) checkMatch(openMatch(match, platforms.length), platforms, match.name);
}
