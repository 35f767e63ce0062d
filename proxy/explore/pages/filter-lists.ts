/** The filters of a search page: those in use, and the values to choose from, as links with counts. */
import { type Html, html } from '../../../pages/html.ts';
import { shownNumber } from '../../../pages/shown-values.ts';
import type { FilterName } from '../../search/query.ts';
import { type SearchView, searchPath } from '../content/address.ts';
import { capitalise, type Filter, type FilterValue } from '../content/filters.ts';
import type { PageContext } from './page.ts';

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
  { generation }: PageContext,
): Html | undefined {
  const used = filters.flatMap(({ name }) => {
    const value = view[name];
    return value === undefined ? [] : [{ name, value }];
  });
  if (used.length === 0) return undefined;
  const { platforms, platformBySlug } = generation.index;
  const labelOf = (name: FilterName, value: string) =>
    name === 'platform'
      ? (platforms[platformBySlug.get(value) ?? -1]?.name ?? value)
      : capitalise(value);
  return html`<ul class="active-filters" aria-label="Filters in use">
  ${used.map(
    ({ name, value }) =>
      html`<li><a class="button quiet small" href="${withValue(view, name, undefined)}" rel="nofollow"><span class="unseen">Remove the filter </span>${labelOf(name, value)}<span aria-hidden="true"> ×</span></a></li>`,
  )}
</ul>`;
}

export function filterLists(view: SearchView, filters: readonly Filter[]): Html {
  return html`<nav class="filters" id="filters" aria-label="Filters">
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
