/** The pages that the explorer shows instead of a result: that there is no explorer, and errors. */
import { type Html, html } from '../../pages/html.ts';
import { countOf } from '../../pages/shown-values.ts';
import { EXPLORE } from './address.ts';
import type { ApiReply } from './call-api.ts';
import { explorerPage, type RenderedPage } from './page.ts';

/** For a site without EXPLORER_KEY. */
export function noExplorerPage(): RenderedPage {
  const text = 'Its operator has not set it up. The API works as usual, with an API key.';
  const links = html`<p class="actions"><a class="button" href="/docs">Read the docs</a> <a class="button quiet" href="/account/api-keys">Get an API key</a></p>`;
  return messagePage(404, 'This site has no explorer', text, links);
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

export function errorPage(reply: ApiReply): RenderedPage {
  const seconds = reply.header('Retry-After');
  switch (reply.status) {
    case 400: {
      const { error }: { error: string } = JSON.parse(reply.text);
      return messagePage(400, 'Check your search', `${error}.`, startLink('Start again'));
    }
    case 401: {
      const text =
        'Its API key is not accepted. The operator of this site must set another one. The API works as usual.';
      return messagePage(503, 'The explorer is closed', text);
    }
    case 404:
      return notFoundPage();
    case 429: {
      const text = 'Many people are using the explorer right now.';
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
  return seconds === undefined ? page : { ...page, headers: `Retry-After: ${seconds}\r\n` };
}

function messagePage(status: number, title: string, lead: string, more?: Html): RenderedPage {
  const body = html`<h1>${title}</h1>\n<p class="lead">${lead}</p>\n${more}`;
  return { status, page: explorerPage(title, body) };
}

function startLink(text: string): Html {
  return html`<p><a class="button" href="${EXPLORE}">${text}</a></p>`;
}
