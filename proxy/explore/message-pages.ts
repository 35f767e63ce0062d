/** The pages that the explorer shows instead of a result: the form for a key, and errors. */
import { type Html, html } from '../../pages/html.ts';
import { countOf } from '../../pages/shown-values.ts';
import { EXPLORE } from './address.ts';
import type { ApiReply } from './call-api.ts';
import { explorerPage, type RenderedPage } from './page.ts';

/** Asks for the key of the visitor. @param status 200, or that of the response of the API */
export function keyPage(status: number): RenderedPage {
  return messagePage(
    status,
    'Enter your API key',
    'This explorer works with your own API key. The key stays in this tab of your browser, and each page that you open counts as one request.',
    html`<p class="notice refused" id="found" role="alert"></p>
<form class="needs-script" data-key-form>
  <label for="key">API key</label>
  <input id="key" type="password" autocomplete="off" spellcheck="false" placeholder="cck_…" required autofocus>
  <button>Open the explorer</button>
</form>
<noscript><p class="notice">Your browser must allow JavaScript for this, because the key is not stored anywhere else.</p></noscript>
<p><a href="/account/api-keys">Get an API key</a></p>`,
  );
}

export function notFoundPage(): RenderedPage {
  const text = 'Nothing in the catalogue has this address. It may have been renamed or removed.';
  return messagePage(404, 'Not found', text, startLink('Search the catalogue'));
}

/** For faults of the program; the log has the cause. */
export function failurePage(): RenderedPage {
  const text =
    'This page could not be made. Try again in a minute. If it happens again, tell the operator of this site.';
  return messagePage(500, 'Something went wrong', text);
}

/** @param hasOwnKey whether the key came from the visitor */
export function errorPage(reply: ApiReply, hasOwnKey: boolean): RenderedPage {
  const seconds = reply.header('Retry-After');
  switch (reply.status) {
    case 400: {
      const { error }: { error: string } = JSON.parse(reply.text);
      return messagePage(400, 'Check your search', `${error}.`, startLink('Start again'));
    }
    case 401: {
      if (hasOwnKey) return keyPage(401);
      // The key is the operator's, which visitors cannot change.
      const text =
        'Its API key is not accepted. The operator of this site must set another one. The API works as usual.';
      return messagePage(401, 'The explorer is closed', text);
    }
    case 404:
      return notFoundPage();
    case 429: {
      const own = 'Your key has reached its limit.';
      const text = hasOwnKey ? own : 'Many people are using the explorer right now.';
      return waitPage(429, 'Too many requests', text, seconds);
    }
    default:
      return waitPage(503, 'Back soon', 'The catalogue is not available at the moment.', seconds);
  }
}

/** @param seconds how long the visitor must wait */
export function manyPagesPage(seconds: number): RenderedPage {
  const text = 'You have opened many pages in one minute.';
  return waitPage(429, 'Too many pages', text, String(seconds));
}

/** @param seconds the value of `Retry-After` */
function waitPage(
  status: number,
  title: string,
  text: string,
  seconds: string | undefined,
): RenderedPage {
  const number = Number(seconds ?? 60);
  const time = number > 90 ? countOf(Math.ceil(number / 60), 'minute') : countOf(number, 'second');
  const page = messagePage(status, title, `${text} Try again in ${time}.`);
  return seconds === undefined ? page : { ...page, headers: ['Retry-After', seconds] };
}

function messagePage(status: number, title: string, lead: string, more?: Html): RenderedPage {
  const body = html`<h1>${title}</h1>\n<p class="lead">${lead}</p>\n${more}`;
  return { status, page: explorerPage(title, body) };
}

function startLink(text: string): Html {
  return html`<p><a class="button" href="${EXPLORE}">${text}</a></p>`;
}
