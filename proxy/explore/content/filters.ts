/**
 * The filters of a search page: the values that each filter can have, and how many games the search
 * would find with them. Counting needs no call of the API, and takes less time than the search.
 */
import { searchOf } from '../../api/parameters.ts';
import { FILTERS, type FilterName } from '../../search/query.ts';
import type { Generation } from '../../snapshot/generation.ts';
import type { SearchView } from './address.ts';
import type { Game } from './records.ts';

export interface FilterValue {
  readonly value: string;
  readonly label: string;
  readonly games: number;
}

export interface Filter {
  readonly name: FilterName;
  /** The values that games have, those of most games first. */
  readonly values: readonly FilterValue[];
}

/** The values of a filter with their labels. */
type Labels = ReadonlyMap<string, string>;

const labelsOfGenerations = new WeakMap<
  Generation,
  Record<'platform' | 'region' | 'type', Labels>
>();

/** @param games those on the page, whose genres are offered */
export function countFilters(
  generation: Generation,
  view: SearchView,
  games: readonly Game[],
): Filter[] {
  const labels = { ...labelsOf(generation), genre: genresOf(games) };
  const entries = Object.entries(view).flatMap(([name, value]): [string, string][] =>
    value === undefined || name === 'page' ? [] : [[name, value]],
  );
  const { platform, region, type, genre } = labels;
  const counts = generation.search.countValues(searchOf(new Map(entries)), {
    platform: [...platform.keys()],
    region: [...region.keys()],
    type: [...type.keys()],
    genre: [...genre.keys()],
  });
  return FILTERS.map((name) => ({
    name,
    values: [...labels[name]]
      .map(([value, label], index) => ({ value, label, games: counts[name][index] }))
      .filter(({ games }) => games > 0)
      .sort((a, b) => b.games - a.games),
  }));
}

/** The platforms, regions and types of a generation. */
function labelsOf(generation: Generation) {
  const known = labelsOfGenerations.get(generation);
  if (known !== undefined) return known;
  const stats: Stats = JSON.parse(generation.stats.bytes.toString());
  const labels = {
    platform: new Map(generation.index.platforms.map(({ slug, name }) => [slug, name])),
    region: namesIn(stats.covers_by_region.map(({ region }) => region)),
    type: namesIn(stats.covers_by_type.map(({ type }) => type)),
  };
  labelsOfGenerations.set(generation, labels);
  return labels;
}

/** The part of `/stats` that is read here. */
interface Stats {
  readonly covers_by_region: readonly { readonly region: string | null }[];
  readonly covers_by_type: readonly { readonly type: string | null }[];
}

/** The search ignores the case of these values, so each is offered once. */
function namesIn(names: readonly (string | null)[]): Labels {
  const found = new Map<string, [value: string, label: string]>();
  for (const name of names) {
    const folded = name?.toLowerCase() ?? '';
    if (name && !found.has(folded)) found.set(folded, [name, capitalise(name)]);
  }
  return new Map(found.values());
}

/** The genres of the games on a page: the text `genres` of a game has several, separated by commas. */
function genresOf(games: readonly Game[]): Labels {
  return namesIn(
    games.flatMap(({ genres }) => genres?.split(',').map((name) => name.trim()) ?? []),
  );
}

export function capitalise(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
