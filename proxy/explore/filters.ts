/**
 * The filters of a search page: those in use, and the values to choose from, as links with the number of
 * games that the search would find with each. Counting needs no call of the API, and takes less time than
 * the search.
 */
import type { Game } from '../../client/contract-types.ts';
import { type Html, html } from '../../pages/html.ts';
import { capitalise, shownNumber } from '../../pages/shown-values.ts';
import { searchOf } from '../api/parameters.ts';
import type { Generation } from '../snapshot/generation.ts';
import { FILTERS, type FilterName, type SearchView, searchPath } from './address.ts';

interface FilterValue {
  readonly value: string;
  readonly label: string;
  readonly games: number;
}

export interface Filter {
  readonly name: FilterName;
  /** The values that games have, those of most games first. */
  readonly values: readonly FilterValue[];
}

/** @param games those on the page, whose genres are offered */
export function countFilters(
  generation: Generation,
  view: SearchView,
  games: readonly Game[],
): Filter[] {
  const genres = genresOf(games);
  const entries = Object.entries(view).flatMap(([name, value]): [string, string][] =>
    value === undefined || name === 'page' ? [] : [[name, value]],
  );
  const counts = generation.search.countFacets(searchOf(new Map(entries)), FILTERS);
  return FILTERS.map((name) => ({
    name,
    values: (counts[name] ?? [])
      .flatMap((count) => {
        const value = name === 'genre' ? genres.get(count.value) : count.value;
        if (value === undefined) return [];
        const spelled = generation.spellingOf(name, value);
        return [{ value: spelled, label: labelOf(name, spelled, generation), games: count.games }];
      })
      .sort((a, b) => b.games - a.games),
  }));
}

function labelOf(name: FilterName, value: string, { index }: Generation): string {
  if (name !== 'platform') return capitalise(value);
  return index.platforms[index.platformBySlug.get(value) ?? -1]?.name ?? value;
}

/**
 * The genres of the games on a page by their names in lower case: the text `genres` of a game has several,
 * separated by commas.
 */
function genresOf(games: readonly Game[]): Map<string, string> {
  const names = games.flatMap(({ genres }) => genres?.split(',').map((name) => name.trim()) ?? []);
  return new Map(names.reverse().map((name) => [name.toLowerCase(), name]));
}

const NAMES: Readonly<Record<FilterName, string>> = {
  platform: 'Platform',
  region: 'Region',
  type: 'Type of cover',
  genre: 'Genre on this page',
};
/** How many values of a filter are shown before the others are folded away. */
const MOST_SHOWN = 8;

/** The filters in use, each with a link that removes it. The heading of the page names the platform. */
export function activeFilters(
  view: SearchView,
  filters: readonly Filter[],
  generation: Generation,
): Html | undefined {
  const used = filters.flatMap(({ name }) => {
    const value = view[name];
    return value === undefined ? [] : [{ name, value }];
  });
  if (used.length === 0) return undefined;
  return html`<ul class="actions" aria-label="Filters in use">
  ${used.map(
    ({ name, value }) =>
      html`<li><a class="button quiet small" href="${withValue(view, name, undefined)}" rel="nofollow"><span class="unseen">Remove the filter </span>${labelOf(name, value, generation)}<span aria-hidden="true"> ×</span></a></li>`,
  )}
</ul>`;
}

export function filterLists(view: SearchView, filters: readonly Filter[]): Html {
  return html`<nav id="filters" aria-label="Filters">
  ${filters.map((filter) => filter.values.length > 0 && filterList(view, filter))}
</nav>`;
}

function filterList(view: SearchView, { name, values }: Filter): Html {
  const item = (each: FilterValue) => valueItem(view, name, each);
  const folded = values.slice(MOST_SHOWN);
  return html`<section>
  <h2 id="filter-${name}">${NAMES[name]}</h2>
  <ul aria-labelledby="filter-${name}">${values.slice(0, MOST_SHOWN).map(item)}</ul>
  ${folded.length > 0 && html`<details><summary>${folded.length} more</summary><ul>${folded.map(item)}</ul></details>`}
</section>`;
}

function valueItem(view: SearchView, name: FilterName, { value, label, games }: FilterValue): Html {
  const isChosen = view[name]?.toLowerCase() === value.toLowerCase();
  const path = withValue(view, name, isChosen ? undefined : value);
  const current = isChosen && html` aria-current="true"`;
  return html`<li><a href="${path}" rel="nofollow"${current}><span>${label}</span> <span class="faint">${shownNumber(games)}</span></a></li>`;
}

/** The same search with another value of a filter, from its first page on. */
function withValue(view: SearchView, name: FilterName, value: string | undefined): string {
  return searchPath({ ...view, [name]: value, page: undefined });
}
