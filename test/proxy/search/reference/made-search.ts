/** Makes reference searches over games made by hand, on platforms of which two share a name. */
import type { Catalogue } from '../../../catalogue/catalogue.ts';
import type { NamedPlatform } from './find.ts';
import { makeReferenceSearch, type ReferenceSearch } from './search.ts';

export interface MadeGame {
  readonly title: string;
  /** Default "game-<index>". */
  readonly slug?: string;
  /** Default "snes". */
  readonly platform?: string;
  /** How many approved covers it has. Default 0. */
  readonly covers?: number;
  readonly year?: number;
  /** Alternative titles. */
  readonly others?: readonly string[];
}

const PLATFORMS: readonly NamedPlatform[] = [
  { slug: 'snes', names: ['snes', 'Super Nintendo', 'Super NES'] },
  { slug: 'nes', names: ['nes', 'Nintendo', 'Nintendo Entertainment System'] },
  { slug: 'n64', names: ['n64', 'Nintendo 64', 'Nintendo'] },
  { slug: 'mega-drive', names: ['mega-drive', 'Mega Drive / Genesis', 'Genesis & 32X'] },
];

/** @param games a text is a title */
export function searchOf(...games: readonly (string | MadeGame)[]): ReferenceSearch {
  const made: readonly MadeGame[] = games.map((game) =>
    typeof game === 'string' ? { title: game } : game,
  );
  const platformId = (slug = 'snes') => PLATFORMS.findIndex((platform) => platform.slug === slug);
  const catalogue: Catalogue = {
    platforms: PLATFORMS.map(({ slug, names }, i) => [i, slug, names[0]]),
    games: made.map(({ title, slug = '', platform, year = null }, i) => {
      const genres = 'RPG, Puzzle';
      return [i, platformId(platform), slug || `game-${i}`, title, year, null, genres, null, null];
    }),
    covers: made.flatMap(({ covers = 0 }, i) =>
      Array.from({ length: covers }, () => [i, i, 'Japan', 'front', 'approved', null]),
    ),
    coverFiles: [],
    gameTitles: made.flatMap(({ others = [] }, i) => others.map((other) => [i, other])),
    accounts: [],
  };
  return makeReferenceSearch(catalogue, PLATFORMS);
}

/** The step that finds something, and the titles found, in title order. */
export function found(search: ReferenceSearch, q: string): [string | undefined, ...string[]] {
  const { step, hits } = search.search({ q });
  return [step, ...hits.map(({ title }) => title)];
}
