/** A query as the search engine gets it, and what the engine says about its hits. */

export const SORTS = ['title_asc', 'title_desc', 'year_asc', 'year_desc', 'relevance'] as const;
export type Sort = (typeof SORTS)[number];

/** The filters of a query. A game passes one if any of its values matches. */
export const FILTERS = ['platform', 'region', 'type', 'genre'] as const;
export type FilterName = (typeof FILTERS)[number];

/** The steps that compare the text of a query with titles. The first that finds a game applies. */
export type Step = 'exact' | 'near' | 'platform' | 'partial';

export interface Query {
  /**
   * The readings of the text, from `readingsOf`, each with at most MOST_WORDS words. Undefined without a
   * text: every title matches. A text without a word has no reading: no title matches.
   */
  readonly readings: readonly (readonly string[])[] | undefined;
  readonly platform: string | undefined;
  readonly region: string | undefined;
  readonly type: string | undefined;
  readonly genre: string | undefined;
  readonly sort: Sort;
}
