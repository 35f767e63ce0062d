/** The links between the pages of a list. */
import { type Html, html } from '../../../pages/html.ts';

export interface PageLinks {
  readonly path: string;
  /** The name of the number of the page in the query. */
  readonly name: string;
  /** The number of this page; the first is 1. */
  readonly page: number;
  readonly hasMore: boolean;
  /** The texts of the links to the page before and the page after. */
  readonly before: string;
  readonly after: string;
  /** The id of the heading above the list. */
  readonly anchor: string;
  /** The other fields of the query. */
  readonly fields?: Readonly<Record<string, string | undefined>>;
}

/** @returns undefined if there is only one page */
export function pageLinks(links: PageLinks): Html | undefined {
  const { path, name, page, hasMore, before, after, anchor, fields = {} } = links;
  if (page === 1 && !hasMore) return undefined;
  const link = (number: number, text: string) => {
    const query = new URLSearchParams({ [name]: String(number) });
    for (const [field, value] of Object.entries(fields)) if (value) query.set(field, value);
    return html`<a href="${path}?${query.toString()}#${anchor}">${text}</a>`;
  };
  return html`<nav class="pages" aria-label="Pages of the list">
          ${page > 1 && link(page - 1, before)}
          ${hasMore && link(page + 1, after)}
        </nav>`;
}
