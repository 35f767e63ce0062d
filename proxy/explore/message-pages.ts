/** The pages that the explorer shows instead of a result: the form for a key, and errors. */
import { type Html, html } from '../../pages/html.ts';
import { EXPLORE } from './address.ts';
import type { ApiReply } from './call-api.ts';
import { countOf, explorerPage, type RenderedPage } from './page.ts';

/** Asks for the key of the visitor. @param status 200, or that of the response of the API */
export function keyPage(status: number): RenderedPage {
  return messagePage(
    status,
    'Enter your API key',
    html`<p class="lead">This explorer works with your own API key. The key stays in this tab of your browser, and each page that you open counts as one request.</p>
<p class="notice refused" data-key-error role="alert" hidden></p>
<form class="narrow wide-form" data-key-form hidden>
  <label for="key">API key</label>
  <input id="key" type="password" autocomplete="off" spellcheck="false" placeholder="cck_…" required>
  <button>Open the explorer</button>
</form>
<noscript><p class="notice">Your browser must allow JavaScript for this, because the key is not stored anywhere else.</p></noscript>
<p><a href="/account/api-keys">Get an API key</a></p>`,
  );
}

export function notFoundPage(): RenderedPage {
  return messagePage(
    404,
    'Not found',
    html`<p class="lead">Nothing in the catalogue has this address. It may have been renamed or removed.</p>
<p><a class="button" href="${EXPLORE}">Search the catalogue</a></p>`,
  );
}

/** For faults of the program; the log has the cause. */
export function failurePage(): RenderedPage {
  return messagePage(
    500,
    'Something went wrong',
    html`<p class="lead">This page could not be made. Try again in a minute. If it happens again, tell the operator of this site.</p>`,
  );
}

/** @param hasOwnKey whether the key came from the visitor */
export function errorPage(reply: ApiReply, hasOwnKey: boolean): RenderedPage {
  const { status } = reply;
  if (status === 404) return notFoundPage();
  if (status === 401) return hasOwnKey ? keyPage(status) : closedPage(status);
  if (status === 400) {
    return messagePage(
      400,
      'Check your search',
      html`<p class="lead">${errorOf(reply)}.</p>
<p><a class="button" href="${EXPLORE}">Start again</a></p>`,
    );
  }
  const seconds = reply.header('Retry-After');
  const page =
    status === 429
      ? messagePage(
          429,
          'Too many requests',
          html`<p class="lead">${hasOwnKey ? 'Your key has reached its limit.' : 'Many people are using the explorer right now.'} Try again in ${waitOf(seconds)}.</p>`,
        )
      : messagePage(
          503,
          'Back soon',
          html`<p class="lead">The catalogue is not available at the moment. Try again in ${waitOf(seconds)}.</p>`,
        );
  return seconds === undefined ? page : { ...page, headers: ['Retry-After', seconds] };
}

/** @param seconds how long the visitor must wait */
export function manyPagesPage(seconds: number): RenderedPage {
  const page = messagePage(
    429,
    'Too many pages',
    html`<p class="lead">You have opened many pages in one minute. Try again in ${waitOf(String(seconds))}.</p>`,
  );
  return { ...page, headers: ['Retry-After', String(seconds)] };
}

/** @param seconds the value of `Retry-After` */
function waitOf(seconds = '60'): string {
  const number = Number(seconds);
  return number > 90 ? countOf(Math.ceil(number / 60), 'minute') : countOf(number, 'second');
}

/** The operator's key is refused, which visitors cannot change. */
function closedPage(status: number): RenderedPage {
  return messagePage(
    status,
    'The explorer is closed',
    html`<p class="lead">Its API key is not accepted. The operator of this site must set another one. The API works as usual.</p>`,
  );
}

/** The text of an error of the API. */
function errorOf({ text }: ApiReply): string {
  const { error }: { error: string } = JSON.parse(text);
  return error;
}

function messagePage(status: number, title: string, text: Html): RenderedPage {
  return { status, page: explorerPage(title, html`<h1>${title}</h1>\n${text}`) };
}
