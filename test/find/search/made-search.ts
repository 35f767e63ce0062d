/** Searches of the product over a few games made by hand, on platforms of which two share a name. */
import { closeSync, realpathSync } from 'node:fs';
import path from 'node:path';
import type { Catalogue } from '#demo/catalogue/load.ts';
import { makePlatformNames } from '#find/names/platform-names.ts';
import { cardinality, EMPTY, slice } from '#find/search/sets/number-set.ts';
import { PostingSets } from '#find/search/sets/posting-sets.ts';
import { QueryMemory } from '#find/search/sets/set-algebra.ts';
import { TitleMatcher } from '#find/search/title-matches.ts';
import { numberAt, type Rank } from '#lib/columns/numbers.ts';
import { CURRENT } from '#lib/format/layout.ts';
import { searchOf as parseSearch } from '#proxy/api/parameters.ts';
import { makeGeneration, viewIndexes } from '#proxy/snapshot/generation.ts';
import { openFiles } from '#proxy/snapshot/open-files.ts';
import { makeSnapshots } from '#test/catalogue/snapshots.ts';

export interface MadeGame {
  readonly title: string;
  /** Default "game-<index>". */
  readonly slug?: string;
  /** Default "snes". One that is not known has its slug as its name. */
  readonly platform?: string;
  /** How many approved covers it has. Default 0. */
  readonly covers?: number;
  readonly year?: number;
  /** Alternative titles. */
  readonly others?: readonly string[];
}

interface FoundGame {
  readonly id: number;
  readonly title: string;
  readonly platform: string;
}

export interface MadeSearch {
  /** @param parameters those of `/search` */
  search(parameters: Readonly<Record<string, string | undefined>>): {
    readonly step: string | undefined;
    readonly hits: readonly FoundGame[];
  };
  /** The first tier of relevance that has a title, from 0 on. */
  tierOf(q: string, title: string): number | undefined;
}

const PLATFORMS: readonly (readonly [slug: string, name: string])[] = [
  ['snes', 'Super Nintendo | Super NES'],
  ['nes', 'Nintendo | Nintendo Entertainment System'],
  ['n64', 'Nintendo 64 | Nintendo'],
  ['mega-drive', 'Mega Drive / Genesis | Genesis & 32X'],
  // With a cover, because a first generation without any is refused.
  ['other', 'Other'],
];
const OTHER: MadeGame = { title: 'Qqqq', platform: 'other', covers: 1 };

/** @param games a text is a title */
export async function searchOf(...games: readonly (string | MadeGame)[]): Promise<MadeSearch> {
  const made: readonly MadeGame[] = games.map((game) =>
    typeof game === 'string' ? { title: game } : game,
  );
  const dir = realpathSync(path.join(await makeSnapshots(catalogueOf([...made, OTHER])), CURRENT));
  const files = openFiles({ dir, id: path.basename(dir) });
  const index = viewIndexes(files);
  const generation = makeGeneration(files, index);
  const all: FoundGame[] = [...index.records.games.gameOfRank].map((game) => {
    const { id, title, platform } = JSON.parse(generation.games.body(game).bytes.toString());
    return { id, title, platform: platform.slug };
  });
  files.descriptors.forEach(closeSync);
  const { search, prepared, records } = index;
  const ranks = new PostingSets<Rank>(search, search.games, new QueryMemory());
  const titles = new TitleMatcher(
    search,
    prepared,
    makePlatformNames(records.platforms),
    ranks,
    () => EMPTY,
  );
  return {
    search(parameters) {
      const given = Object.entries(parameters).filter((entry): entry is [string, string] => {
        return entry[1] !== undefined && entry[1] !== '';
      });
      const query = parseSearch(new Map(given));
      const { step, ranks } = generation.search.find(query, 0, all.length);
      const hits = ranks.map((rank) => all[rank]);
      return { step, hits: hits.filter(({ platform }) => platform !== OTHER.platform) };
    },
    tierOf(q, title) {
      const { variants = [] } = parseSearch(new Map([['q', q]]));
      const rank = all.findIndex((game) => game.title === title);
      const tiers = [...(titles.match(variants)?.tiers ?? [])];
      const tier = tiers.findIndex((parts) =>
        parts.some(({ ranks }) => slice(ranks, 0, cardinality(ranks)).includes(numberAt(rank))),
      );
      return tier < 0 ? undefined : tier;
    },
  };
}

function catalogueOf(games: readonly MadeGame[]): Catalogue {
  const known = new Map(PLATFORMS);
  for (const { platform } of games) {
    if (platform !== undefined && !known.has(platform)) known.set(platform, platform);
  }
  const platforms = [...known];
  const platformId = (wanted = 'snes') => platforms.findIndex(([slug]) => slug === wanted) + 1;
  const covers = games.flatMap(({ covers = 0 }, i) => new Array<number>(covers).fill(i + 1));
  return {
    platforms: platforms.map(([slug, name], i) => [i + 1, slug, name]),
    games: games.map(({ title, slug, platform, year = null }, i) => {
      const genres = 'RPG, Puzzle';
      const place = [i + 1, platformId(platform), slug ?? `game-${i}`];
      return [...place, title, year, null, genres, null, null];
    }),
    covers: covers.map((game, i) => [i + 1, game, 'Japan', 'front', 'approved', null]),
    coverFiles: [],
    gameTitles: games.flatMap(({ others = [] }, i) => others.map((other) => [i + 1, other])),
    accounts: [],
  };
}

/** The step that finds something, and the titles found, in title order. */
export function found(search: MadeSearch, q: string): [string | undefined, ...string[]] {
  const { step, hits } = search.search({ q });
  return [step, ...hits.map(({ title }) => title)];
}
