/**
 * Search as the contract says it, as plainly as it can be: filters and sorts over rows. It is slow and
 * shares no code with the product, which is compared with it.
 */
import type { Catalogue } from '#demo/catalogue/load.ts';
import {
  distinct,
  type Found,
  makeFind,
  type NamedPlatform,
  type Step,
  type Tiers,
} from './find.ts';
import { compareTitles, type ReferenceGame, referenceGames } from './games.ts';
import { readTitle, type TitleVariant } from './match.ts';
import { needsSlug, plainWordsOf, variantsOf as variantsOfText, wordsOf } from './text.ts';

export interface ReferenceQuery {
  readonly q?: string | undefined;
  readonly platform?: string | undefined;
  readonly region?: string | undefined;
  readonly type?: string | undefined;
  readonly genre?: string | undefined;
  readonly sort?: string | undefined;
}

export interface ReferenceAnswer {
  /** The step that found games on the platform, before the other filters. */
  readonly step: Step | undefined;
  /** Every hit, in the order asked for. */
  readonly hits: readonly ReferenceGame[];
}

export interface ReferenceSearch {
  /** In title order. */
  readonly games: readonly ReferenceGame[];
  readonly search: (query: ReferenceQuery) => ReferenceAnswer;
}

/** Reads the titles once, so that many queries can be answered. */
export function makeReferenceSearch(
  catalogue: Catalogue,
  platforms: readonly NamedPlatform[],
): ReferenceSearch {
  const games = referenceGames(catalogue);
  const otherTitles = Map.groupBy(catalogue.gameTitles ?? [], ([id]) => String(id));
  const variants = new Map(
    games.map((game) => {
      const others = otherTitles.get(game.id) ?? [];
      return [
        game,
        variantsOf(
          game,
          others.map(([, title]) => String(title)),
        ),
      ] as const;
    }),
  );
  const find = makeFind(variants, platforms);
  const everything: Found = { tiers: new Map(games.map((game) => [game, undefined])) };
  return {
    games,
    search: (query) => {
      const q = query.q?.trim() ?? '';
      const { step, tiers } =
        q === '' ? everything : find(q, query.platform?.toLowerCase() || undefined);
      const hits = games.filter((game) => tiers.has(game) && passes(game, query));
      return { step, hits: sorted(hits, query.sort, tiers) };
    },
  };
}

/** The words under which a game is found: of its titles, and of its slug if no title has the same. */
function variantsOf(game: ReferenceGame, otherTitles: readonly string[]): TitleVariant[] {
  const shown = wordsOf(game.title);
  const ofTitle = distinct(variantsOfText(game.title));
  const ofTitles = distinct([...ofTitle, ...otherTitles.flatMap((title) => variantsOfText(title))]);
  const ofSlug = distinct(needsSlug(game.title) ? [plainWordsOf(game.slug)] : []);
  const newOfSlug = ofSlug.filter(
    (words) => !ofTitles.some((known) => known.join(' ') === words.join(' ')),
  );
  return [
    ...ofTitles.map((words, at) =>
      readTitle(words, shown, at < ofTitle.length ? 'shown' : 'other'),
    ),
    ...newOfSlug.map((words) => readTitle(words, shown, 'slug')),
  ];
}

function passes(game: ReferenceGame, query: ReferenceQuery): boolean {
  const is = (asked: string | undefined, holds: (value: string) => boolean) =>
    asked === undefined || asked === '' || holds(asked.toLowerCase());
  return (
    is(query.platform, (value) => game.platform.toLowerCase() === value) &&
    is(query.region, (value) => game.regions.has(value)) &&
    is(query.type, (value) => game.types.has(value)) &&
    is(query.genre, (value) => game.genres?.toLowerCase().includes(value) === true)
  );
}

/** @param hits in title order */
function sorted(
  hits: readonly ReferenceGame[],
  sort: string | undefined,
  tiers: Tiers,
): ReferenceGame[] {
  if (sort === 'title_desc') return hits.toReversed();
  if (sort === 'year_asc' || sort === 'year_desc') {
    const sign = sort === 'year_asc' ? 1 : -1;
    const key = ({ year }: ReferenceGame) =>
      year === null ? Number.POSITIVE_INFINITY : sign * year;
    return hits.toSorted((a, b) => (key(a) === key(b) ? compareTitles(a, b) : key(a) - key(b)));
  }
  if (sort === 'relevance') {
    return hits.toSorted((a, b) => {
      const [placeA, placeB] = [tiers.get(a), tiers.get(b)];
      const byCovers = b.covers - a.covers || compareTitles(a, b);
      if (placeA === undefined || placeB === undefined) return byCovers;
      return placeA.tier - placeB.tier || placeA.additional - placeB.additional || byCovers;
    });
  }
  return [...hits];
}
