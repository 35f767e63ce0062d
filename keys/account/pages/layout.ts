/**
 * The layout of every account page: that of all pages, with the visitor's account and notices. And the
 * parts that several pages contain.
 */
import { type Html, html } from '../../../lib/pages/html.ts';
import { renderPage, type SiteProfile } from '../../../lib/pages/layout.ts';
import { isWebAddress, timeElement } from '../../../lib/pages/shown-values.ts';
import { FILES_PATH, PATHS } from '../../paths.ts';
import type { Account } from '../../tables/accounts.ts';
import { fromDatabaseTime } from '../../tables/values.ts';
import type { RefusedAssertion } from '../visitors/assertion.ts';

/** The visitor for whom a page is made. */
export interface Viewer {
  readonly account: Account | undefined;
  /** Whether the viewer signed in on these pages, and so can sign out here. */
  readonly hasSession: boolean;
  /** Why the site's assertion, which the request has, does not sign the visitor in. */
  readonly refused?: RefusedAssertion | undefined;
  /** Whether the site has an explorer, to which pages link. */
  readonly hasExplorer?: boolean;
  readonly siteProfile?: SiteProfile;
}

/** A sentence at the top of a page that says what was done, or why it was refused. */
export interface Notice {
  readonly kind: 'done' | 'refused';
  readonly text: string;
}

interface Parts {
  readonly title: string;
  readonly viewer: Viewer;
  /** The path of this page in the navigation, if the navigation has it. */
  readonly path?: string | undefined;
  readonly notice?: Notice | undefined;
  readonly body: Html;
}

const ROLES = { done: 'status', refused: 'alert' };
const SIGN_OUT_FORM = html`<form method="post" action="${PATHS.signOut}"><button class="quiet small">Sign out</button></form>`;

export function framedPage({ title, viewer, path, notice, body }: Parts): Html {
  const { account, hasSession, hasExplorer = false, siteProfile: site } = viewer;
  return renderPage({
    title,
    filesPath: FILES_PATH,
    hasExplorer,
    site,
    styles: [`${FILES_PATH}/account.css`],
    path,
    navigation: account?.role === 'moderator' ? [{ path: PATHS.review, text: 'Moderation' }] : [],
    aside:
      account &&
      html`<span>${account.name}</span>
          ${hasSession && SIGN_OUT_FORM}`,
    body: html`<h1>${title}</h1>
      ${notice && html`<p class="notice ${notice.kind}" role="${ROLES[notice.kind]}">${notice.text}</p>`}
      ${body}`,
  });
}

/** Formats a time of the database, "YYYY-MM-DD HH:MM:SS" in UTC, for people. */
export function moment(time: string | null): Html | undefined {
  if (time === null) return undefined;
  return timeElement(fromDatabaseTime(time));
}

const LONGEST_ADDRESS_SHOWN = 200;

/** Shows an address that someone typed, or its beginning. Only an http or https address becomes a link. */
export function webLink(address: string): Html {
  const isLong = address.length > LONGEST_ADDRESS_SHOWN;
  const shown = isLong ? `${address.slice(0, LONGEST_ADDRESS_SHOWN)}…` : address;
  if (!isWebAddress(address)) return html`<span>${shown}</span>`;
  return html`<a href="${address}" rel="noopener noreferrer nofollow ugc">${shown}</a>`;
}

/** A page with one message: the page does not exist or is not allowed, or something went wrong. */
export function messagePage(viewer: Viewer, title: string, text: string, more?: Html): Html {
  return framedPage({
    title,
    viewer,
    body: html`
      <p>${text}</p>
      ${more}
      <p><a href="${PATHS.keys}">Go to your API keys</a></p>`,
  });
}

interface NeighbourLinks {
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

/** The links between the pages of a list. @returns undefined if there is only one page */
export function pageLinks(links: NeighbourLinks): Html | undefined {
  const { path, name, page, hasMore, before, after, anchor, fields = {} } = links;
  if (page === 1 && !hasMore) return undefined;
  const link = (number: number, text: string) => {
    const query = new URLSearchParams({ [name]: String(number) });
    for (const [field, value] of Object.entries(fields)) if (value) query.set(field, value);
    return html`<a class="button quiet" href="${path}?${query.toString()}#${anchor}">${text}</a>`;
  };
  return html`<nav class="actions" aria-label="Pages of the list">
          ${page > 1 && link(page - 1, before)}
          ${hasMore && link(page + 1, after)}
        </nav>`;
}
