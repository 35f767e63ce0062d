/**
 * Errors outside the base: a page for browsers, which accept text/html, and JSON as in the API for
 * programs. Neither contains anything of the request.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { html } from '../../pages/html.ts';
import { renderPage } from '../../pages/layout.ts';
import { type HeaderList, type PreparedResponse, prepareError } from '../http/message/response.ts';
import { toResponder } from '../http/node-response.ts';
import { HTML, makePage, PAGE_POLICY, uncachedPage } from './page-responses.ts';

export interface SiteError {
  readonly status: number;
  /** For programs: the text of the JSON. */
  readonly error: string;
  /** For people: what happened, and what to do. */
  readonly title: string;
  readonly text: string;
  readonly headers?: HeaderList;
}

/** An error in both forms, made once. */
export interface PreparedSiteError {
  readonly json: PreparedResponse;
  readonly page: PreparedResponse;
}

export function prepareSiteError({
  status,
  error,
  title,
  text,
  headers = [],
}: SiteError): PreparedSiteError {
  const page = renderPage({
    title,
    filesPath: '',
    body: html`<p class="faint">Error ${status}</p>
      <h1>${title}</h1>
      <p class="lead">${text}</p>
      <p class="actions"><a class="button" href="/">Go to the start page</a> <a class="button quiet" href="/docs">Read the docs</a></p>`,
  });
  const content = makePage(HTML, page.toString(), {
    policy: PAGE_POLICY,
    cacheControl: 'no-store',
    vary: 'Accept',
    headers,
  });
  return {
    json: prepareError(status, error, ['Vary', 'Accept', ...headers]),
    page: uncachedPage(status, content),
  };
}

/**
 * The error for a request that is not well-formed.
 * @param fault what is wrong with it, without a full stop and without anything of the request
 */
export function prepareBadRequest(fault: string): PreparedSiteError {
  return prepareSiteError({
    status: 400,
    error: fault,
    title: 'Your browser sent something that we cannot read',
    text: `${fault}.`,
  });
}

/** Refuses a request, whose body may not have been read: the connection is closed after the error. */
export function refuse(
  request: IncomingMessage,
  response: ServerResponse,
  error: PreparedSiteError,
): void {
  toResponder(response).send(errorFor(request.headers.accept, error), '', true);
}

/** An error in the form that suits a request. @param accept the Accept field of the request */
export function errorFor(
  accept: string | undefined,
  { json, page }: PreparedSiteError,
): PreparedResponse {
  return acceptsHtml(accept) ? page : json;
}

/** Whether the client names text/html, as every browser does for a page. Programs send "*" or nothing. */
function acceptsHtml(accept = ''): boolean {
  return /(?:^|,)\s*text\/html\s*(?:;(?!\s*q=0(?:\.0*)?\s*(?:,|$))|,|$)/i.test(accept);
}
