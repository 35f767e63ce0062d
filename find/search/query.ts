/** A query as the search engine gets it, and what the engine says about its hits. */
import { VALUE_FACETS, type ValueFilter } from './value-filters.ts';

export const SORTS = ['title_asc', 'title_desc', 'year_asc', 'year_desc', 'relevance'] as const;
export type Sort = (typeof SORTS)[number];

/** The filters whose values can be counted. A game passes one if any of its values matches. */
export const FACETS = ['platform', ...VALUE_FACETS, 'year'] as const;
export type FacetName = (typeof FACETS)[number];

/** The first and the last year of a range. */
export type Years = readonly [from: number, to: number];

/** The steps that compare the text of a query with titles. The first that finds a game applies. */
export type Step = 'exact' | 'near' | 'platform' | 'partial';

/** With the text of each filter by a value. */
export interface Query extends Readonly<Record<ValueFilter, string | undefined>> {
  /**
   * The variants of the text, from `queryVariantsOf`. Undefined without a text: every title matches. A text without
   * a word has no variant: no title matches.
   */
  readonly variants: readonly (readonly string[])[] | undefined;
  /** Slugs. */
  readonly platform: readonly string[] | undefined;
  readonly year: Years | undefined;
  /** Whether a game must have an approved front, or none. */
  readonly has_cover: boolean | undefined;
  readonly sort: Sort;
}
