/**
 * The layout of every page: head, navigation and notices around the page's own part. No inline scripts
 * or styles, and no files of other sites: the content security policy forbids both.
 */
import { FILE_PATHS, PATHS } from '../../paths.ts';
import type { Account } from '../../tables/accounts.ts';
import { type Html, html } from './html.ts';

/** The name of the form field that holds the visitor's token. */
export const TOKEN_FIELD = 'token';

/** The visitor for whom a page is made. */
export interface Viewer {
  readonly account: Account | undefined;
  /** The token that the viewer's forms must contain. */
  readonly token: string;
  /** Whether the viewer signed in on these pages, and so can sign out here. */
  readonly hasSession: boolean;
}

/** A sentence at the top of a page that says what was done, or why it was refused. */
export interface Notice {
  readonly kind: 'done' | 'refused';
  readonly text: string;
}

export interface Parts {
  readonly title: string;
  readonly viewer: Viewer;
  /** The path of this page in the navigation, if the navigation has it. */
  readonly path?: string | undefined;
  readonly notice?: Notice | undefined;
  readonly body: Html;
}

export function makePage({ title, viewer, path, notice, body }: Parts): Html {
  return html`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>${title} · Cover Catalogue API</title>
    <link rel="icon" href="${FILE_PATHS.icon}" type="image/svg+xml">
    <link rel="stylesheet" href="${FILE_PATHS.styles}">
    <script src="${FILE_PATHS.script}" defer></script>
  </head>
  <body>
    <a class="skip" href="#content">Skip to the content</a>
    <header>
      <a class="name" href="/">Cover Catalogue API</a>
      <nav aria-label="Pages">
        ${viewer.account !== undefined && navLink(PATHS.keys, 'API keys', path)}
        ${viewer.account?.role === 'moderator' && navLink(PATHS.review, 'Moderation', path)}
        <a href="/docs">Reference</a>
      </nav>
      ${viewer.account !== undefined && html`<span class="who">${viewer.account.name}</span>`}
      ${viewer.hasSession && signOutForm(viewer)}
    </header>
    <main id="content" tabindex="-1">
      <h1>${title}</h1>
      ${notice !== undefined && noticeBox(notice)}
      ${body}
    </main>
  </body>
</html>
`;
}

/** The hidden field that every form begins with. */
export function tokenField({ token }: Viewer): Html {
  return html`<input type="hidden" name="${TOKEN_FIELD}" value="${token}">`;
}

/** Formats a time of the database, "YYYY-MM-DD HH:MM:SS" in UTC, for people. */
export function moment(time: string | null): Html | undefined {
  if (time === null) return undefined;
  const date = new Date(`${time.slice(0, 19).replace(' ', 'T')}Z`);
  const shown = new Intl.DateTimeFormat('en-GB', {
    dateStyle: 'medium',
    timeStyle: 'short',
    timeZone: 'UTC',
  }).format(date);
  return html`<time datetime="${date.toISOString()}">${shown} UTC</time>`;
}

/** Formats a date of the database, "YYYY-MM-DD", for people. */
export function day(date: string | null): Html | undefined {
  if (date === null) return undefined;
  const shown = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' }).format(
    new Date(`${date.slice(0, 10)}T00:00:00Z`),
  );
  return html`<time datetime="${date.slice(0, 10)}">${shown}</time>`;
}

/** Shows an address that someone typed. Only an http or https address becomes a link. */
export function webLink(address: string): Html {
  const isWeb = URL.canParse(address) && /^https?:$/.test(new URL(address).protocol);
  if (!isWeb) return html`<span>${address}</span>`;
  return html`<a href="${address}" rel="noopener noreferrer nofollow ugc">${address}</a>`;
}

/** A name and its value. If the value is undefined or '', neither is shown. */
export type Description = readonly [name: string, value: Html | string | undefined];

export function descriptions(pairs: readonly Description[]): Html {
  const shown = pairs.filter(([, value]) => value !== undefined && value !== '');
  return html`<dl>${shown.map(
    ([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`,
  )}</dl>`;
}

function navLink(target: string, text: string, path: string | undefined): Html {
  if (target === path) return html`<a href="${target}" aria-current="page">${text}</a>`;
  return html`<a href="${target}">${text}</a>`;
}

function signOutForm(viewer: Viewer): Html {
  return html`<form class="sign-out" method="post" action="${PATHS.signOut}">${tokenField(viewer)}<button class="quiet">Sign out</button></form>`;
}

function noticeBox({ kind, text }: Notice): Html {
  const role = kind === 'refused' ? 'alert' : 'status';
  return html`<p class="notice ${kind}" role="${role}">${text}</p>`;
}
