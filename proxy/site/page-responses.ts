/**
 * The responses outside the base: pages with their security headers, and errors, which are a page for browsers
 * (they accept text/html) and JSON as in the API for programs. An error contains nothing of the request. A
 * page that may be cached is answered as a resource (`respond`), which compresses it and knows its ETag.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { hashBytes, hexOf } from '../../format/content-hash.ts';
import { html } from '../../pages/html.ts';
import { renderPage } from '../../pages/layout.ts';
import { toResponder } from '../http/node-response.ts';
import { makeResource, type Resource } from '../http/resource.ts';
import { type HeaderList, type PreparedResponse, prepareError } from '../http/response.ts';

export const HTML = 'text/html; charset=utf-8';

/** Nothing may be loaded, and no other site may frame the page. The policies below allow more. */
const CLOSED = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/** The page may load scripts, styles and images of this site. */
export const PAGE_POLICY = `${CLOSED}; script-src 'self'; style-src 'self'; img-src 'self'`;
/** Its search box leads to the explorer. */
export const START_POLICY = PAGE_POLICY.replace("form-action 'none'", "form-action 'self'");
/** Its scripts may also send requests to this site, to try the API. */
export const DOCS_POLICY = `${PAGE_POLICY}; connect-src 'self'`;

/** A page with its header fields. It can be passed to another thread. */
export interface Page {
  readonly headers: HeaderList;
  readonly body: Uint8Array;
}

export interface PageOptions {
  readonly policy?: string;
  readonly cacheControl?: string;
  readonly vary?: string;
  readonly headers?: HeaderList;
}

export function makePage(
  contentType: string,
  content: Buffer | string,
  // File names contain no version. Browsers must revalidate, so that pages and scripts match.
  { policy = CLOSED, cacheControl = 'no-cache', vary, headers = [] }: PageOptions = {},
): Page {
  const own = [
    ...['Content-Type', contentType],
    ...['Content-Security-Policy', policy],
    ...['X-Content-Type-Options', 'nosniff'],
    ...['Referrer-Policy', 'no-referrer'],
    ...['Cache-Control', cacheControl],
    ...(vary === undefined ? [] : ['Vary', vary]),
    ...headers,
  ];
  return { headers: own, body: Buffer.from(content) };
}

export function pageResource({ headers, body }: Page): Resource {
  const kind = { ok: { status: 200, headers }, notModified: { status: 304, headers } };
  return makeResource({ kind, hash: hexOf(hashBytes(body)), headers: [], body: bufferOf(body) });
}

/** The response with a page that must not be cached: an error, or what differs from moment to moment. */
export function uncachedPage(status: number, { headers, body }: Page): PreparedResponse {
  const length = ['Content-Length', String(body.length)];
  return { head: { status, headers }, headers: length, body: bufferOf(body) };
}

/** A buffer that was passed to another thread is only an array there. */
function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** An error in both forms, made once. */
export interface SiteError {
  readonly json: PreparedResponse;
  readonly page: PreparedResponse;
}

/**
 * @param error for programs: the text of the JSON
 * @param title, @param text for people: what happened, and what to do
 */
export function prepareSiteError(
  status: number,
  error: string,
  title: string,
  text: string,
  headers: HeaderList = [],
): SiteError {
  const page = renderPage({
    title,
    filesPath: '',
    body: html`<p class="faint">Error ${status}</p>
      <h1>${title}</h1>
      <p class="lead">${text}</p>
      <p class="actions"><a class="button" href="/">Go to the start page</a> <a class="button quiet" href="/docs">Read the docs</a></p>`,
  });
  const options = { policy: PAGE_POLICY, cacheControl: 'no-store', vary: 'Accept', headers };
  return {
    json: prepareError(status, error, ['Vary', 'Accept', ...headers]),
    page: uncachedPage(status, makePage(HTML, page.toString(), options)),
  };
}

/**
 * The error for a request that is not well-formed.
 * @param fault what is wrong with it, without a full stop and without anything of the request
 */
export function prepareBadRequest(fault: string): SiteError {
  const title = 'Your browser sent something that we cannot read';
  return prepareSiteError(400, fault, title, `${fault}.`);
}

/** Refuses a request, whose body may not have been read: the connection is closed after the error. */
export function refuse(request: IncomingMessage, response: ServerResponse, error: SiteError): void {
  toResponder(response).send(errorFor(request.headers.accept, error), '', true);
}

/** Whether the client names text/html, as every browser does for a page. Programs send "*" or nothing. */
const ACCEPTS_HTML = /(?:^|,)\s*text\/html\s*(?:;(?!\s*q=0(?:\.0*)?\s*(?:,|$))|,|$)/i;

/** An error in the form that suits a request. @param accept the Accept field of the request */
export function errorFor(accept: string | undefined, { json, page }: SiteError): PreparedResponse {
  return ACCEPTS_HTML.test(accept ?? '') ? page : json;
}
