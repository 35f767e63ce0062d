/**
 * The texts by which games can be filtered: a row of this table is all that such a filter takes. The generator
 * reads its column, keeps it from run to run and writes its list; a search opens, checks and filters by the list;
 * the API has a parameter with the name of the row.
 */
import { namesOfRegion } from '../names/regions.ts';

interface FilterRow {
  /** Whose column it is: that of a game, or of each of its approved covers. */
  readonly of: 'game' | 'cover';
  /** The name of the column in the catalogue database. */
  readonly column: string;
  /** The list of its values in the index. */
  readonly list: string;
  /** Whether the text of a query is a whole value, in any case, or any part of it. */
  readonly finds: 'whole' | 'part';
  /** Whether its values can be counted. Those of a filter by part are lists with commas, counted one by one. */
  readonly isFacet: boolean;
  /** Other values that a text means if it is not a value itself, folded. */
  otherNames?(text: string): readonly string[];
}

export const VALUE_FILTERS = {
  region: {
    of: 'cover',
    column: 'region',
    list: 'regions',
    finds: 'whole',
    isFacet: true,
    otherNames: namesOfRegion,
  },
  type: { of: 'cover', column: 'type', list: 'types', finds: 'whole', isFacet: true },
  genre: { of: 'game', column: 'genres', list: 'genres', finds: 'part', isFacet: true },
} as const satisfies Readonly<Record<string, FilterRow>>;

type FilterTable = typeof VALUE_FILTERS;
export type ValueFilter = keyof FilterTable;
/** The filters by the columns of games, or of covers. */
export type FilterOf<Owner extends FilterRow['of']> = {
  [Name in ValueFilter]: FilterTable[Name]['of'] extends Owner ? Name : never;
}[ValueFilter];
export type FilterList = FilterTable[ValueFilter]['list'];
export type ValueFacet = {
  [Name in ValueFilter]: FilterTable[Name]['isFacet'] extends true ? Name : never;
}[ValueFilter];

export const VALUE_FILTER_NAMES = Object.keys(VALUE_FILTERS) as readonly ValueFilter[];
export const VALUE_FACETS = VALUE_FILTER_NAMES.filter(
  (name): name is ValueFacet => VALUE_FILTERS[name].isFacet,
);

export function filterRow(name: ValueFilter): FilterRow & { readonly list: FilterList } {
  return VALUE_FILTERS[name];
}

/** Makes something for each filter. @param names by default, all */
export function forEachFilter<T, Name extends ValueFilter = ValueFilter>(
  make: (name: Name) => T,
  names: readonly Name[] = VALUE_FILTER_NAMES as readonly Name[],
): Readonly<Record<Name, T>> {
  return Object.fromEntries(names.map((name) => [name, make(name)])) as Record<Name, T>;
}

/** The filters by the columns of games, or of covers, in the order of the table. */
export function filterNamesOf<Owner extends FilterRow['of']>(
  owner: Owner,
): readonly FilterOf<Owner>[] {
  return VALUE_FILTER_NAMES.filter(
    (name): name is FilterOf<Owner> => VALUE_FILTERS[name].of === owner,
  );
}
