/**
 * Search as the contract says it, as plainly as it can be: a filter and a sort over rows. Slow, and
 * sharing nothing with the query engine but the tokeniser.
 */

import { isJoinedScript, nearSpellingDistance, wordsOf } from '../../../format/index/words.ts';
import type { Catalogue } from '../../catalogue/catalogue.ts';

export interface ReferenceGame {
  readonly id: string;
  readonly platform: string;
  readonly title: string;
  readonly words: readonly string[];
  readonly year: number | null;
  readonly genres: string | null;
  readonly regions: ReadonlySet<string>;
  readonly types: ReadonlySet<string>;
}

export interface ReferenceQuery {
  readonly q?: string | undefined;
  readonly platform?: string | undefined;
  readonly region?: string | undefined;
  readonly type?: string | undefined;
  readonly genre?: string | undefined;
  readonly sort?: string | undefined;
}

const collator = new Intl.Collator('en-u-kn', { sensitivity: 'base' });

/** The games of a catalogue in title order. */
export function referenceGames(catalogue: Catalogue): ReferenceGame[] {
  const platforms = new Map([...catalogue.platforms].map(([id, slug]) => [id, String(slug)]));
  const regions = new Map<unknown, Set<string>>();
  const types = new Map<unknown, Set<string>>();
  const add = (map: Map<unknown, Set<string>>, game: unknown, value: unknown) => {
    if (!map.has(game)) map.set(game, new Set());
    if (value !== null) map.get(game)?.add(String(value).toLowerCase());
  };
  for (const [, game, region, type, status] of catalogue.covers) {
    if (status !== 'approved') continue;
    add(regions, game, region);
    add(types, game, type);
  }
  return [...catalogue.games]
    .map(([id, platform, , title, year, , genres]) => ({
      id: String(id),
      platform: platforms.get(platform as number) as string,
      title: String(title),
      words: wordsOf(String(title)),
      year: year as number | null,
      genres: genres as string | null,
      regions: regions.get(id) ?? new Set<string>(),
      types: types.get(id) ?? new Set<string>(),
    }))
    .sort(compareTitles);
}

export function compareTitles(a: ReferenceGame, b: ReferenceGame): number {
  return (
    collator.compare(a.title, b.title) ||
    (a.platform < b.platform ? -1 : a.platform > b.platform ? 1 : 0) ||
    (BigInt(a.id) < BigInt(b.id) ? -1 : 1)
  );
}

/** Every hit in the order asked for. @param games in title order */
export function referenceSearch(
  games: readonly ReferenceGame[],
  query: ReferenceQuery,
): ReferenceGame[] {
  const words = wordsOf(query.q ?? '').slice(0, 8);
  let hits = games.filter((game) => matches(game, words, false));
  if (hits.length === 0) hits = games.filter((game) => matches(game, words, true));
  const lower = (value: string | undefined) => value?.toLowerCase();
  const platform = lower(query.platform);
  const region = lower(query.region);
  const type = lower(query.type);
  const genre = lower(query.genre);
  hits = hits.filter(
    (game) =>
      (platform === undefined || game.platform.toLowerCase() === platform) &&
      (region === undefined || game.regions.has(region)) &&
      (type === undefined || game.types.has(type)) &&
      (genre === undefined || game.genres?.toLowerCase().includes(genre)),
  );
  if (query.sort === 'title_desc') return hits.reverse();
  if (query.sort === 'year_asc' || query.sort === 'year_desc') {
    const sign = query.sort === 'year_asc' ? 1 : -1;
    const key = ({ year }: ReferenceGame) =>
      year === null ? Number.POSITIVE_INFINITY : sign * year;
    return hits.sort((a, b) => (key(a) === key(b) ? compareTitles(a, b) : key(a) - key(b)));
  }
  return hits;
}

function matches(game: ReferenceGame, words: readonly string[], near: boolean): boolean {
  return words.every((word, place) => {
    const isLast = place === words.length - 1;
    const isPart = isJoinedScript(word) && [...word].length >= 2;
    const distance = near ? nearSpellingDistance(word) : 0;
    return game.words.some(
      (found) =>
        found === word ||
        (isLast && found.startsWith(word)) ||
        (isPart && found.includes(word)) ||
        (distance > 0 && editDistance(found, word) <= distance),
    );
  });
}

const distances = new Map<string, number>();

/** In letters: code points. */
function editDistance(left: string, right: string): number {
  const pair = `${left} ${right}`;
  const known = distances.get(pair);
  if (known !== undefined) return known;
  const a = [...left];
  const b = [...right];
  if (Math.abs(a.length - b.length) > 2) return 3;
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const changed = row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(changed, row[j] + 1, next[j - 1] + 1));
    }
    row = next;
  }
  const distance = row[b.length];
  if (distances.size > 2_000_000) distances.clear();
  distances.set(pair, distance);
  return distance;
}
