/** The content security policies of the pages, and the header fields that all pages share. */
import type { HeaderList } from '../http/message/response.ts';

export const HTML = 'text/html; charset=utf-8';

/** Nothing may be loaded, and no other site may frame the page. The policies below allow more. */
export const CLOSED =
  "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/** The page may load scripts, styles and images of this site. */
export const PAGE_POLICY = `${CLOSED}; script-src 'self'; style-src 'self'; img-src 'self'`;
/** Its search box leads to the explorer. */
export const START_POLICY = PAGE_POLICY.replace("form-action 'none'", "form-action 'self'");
/** Its scripts may also send requests to this site: to try the API, and to search the docs. */
export const DOCS_POLICY = `${PAGE_POLICY}; connect-src 'self'`;

export function pageHeaders(contentType: string, policy: string): HeaderList {
  return [
    ...['Content-Type', contentType],
    ...['Content-Security-Policy', policy],
    ...['X-Content-Type-Options', 'nosniff'],
    ...['Referrer-Policy', 'no-referrer'],
  ];
}
