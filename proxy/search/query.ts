/** A query as the search engine gets it. */

export const SORTS = ['title_asc', 'title_desc', 'year_asc', 'year_desc'] as const;
export type Sort = (typeof SORTS)[number];

export interface Query {
  /** The words from `wordsOf`, at most MOST_WORDS. Without words, every title matches. */
  readonly words: readonly string[];
  readonly platform: string | undefined;
  readonly region: string | undefined;
  readonly type: string | undefined;
  readonly genre: string | undefined;
  readonly sort: Sort;
}
