/**
 * The responses outside the base: pages with their security headers, and errors, which are a page for browsers
 * (they accept text/html) and JSON as in the API for programs. An error contains nothing of the request. A
 * page that may be cached is answered as a resource (`respond`), which compresses it and knows its ETag.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { hashBytes, hexOf } from '../../lib/format/content-hash.ts';
import { html } from '../../lib/pages/html.ts';
import { renderPage, type SiteFrame } from '../../lib/pages/layout.ts';
import { toResponder } from '../../proxy/http/node-response.ts';
import { makeResource, type Resource } from '../../proxy/http/resource.ts';
import {
  type HeaderLines,
  headerLines,
  NO_BODY,
  type PreparedResponse,
  prepareError,
} from '../../proxy/http/response.ts';

export const HTML = 'text/html; charset=utf-8';

/** A page, or a file that pages load, with its header fields. It can be passed to another thread. */
export interface Page {
  /** Its Content-Type, which a 304 does not have. */
  readonly type: string;
  /** The other fields. */
  readonly headers: HeaderLines;
  readonly content: string;
}

interface PageOptions {
  readonly cacheControl?: string;
  readonly vary?: string;
  /** An origin from which the page may load images, besides this site. */
  readonly imageOrigin?: string | undefined;
  readonly headers?: HeaderLines | undefined;
}

export function makePage(type: string, content: string, options: PageOptions = {}): Page {
  // File names contain no version. Browsers must revalidate, so that pages and scripts match.
  const { cacheControl = 'no-cache', vary = 'Accept-Encoding', imageOrigin = '' } = options;
  // Pages load files, send forms and make requests to this site only. No other site may frame them.
  const policy = [
    "default-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'",
    "script-src 'self'; style-src 'self'; connect-src 'self'",
    `img-src 'self' ${imageOrigin}`.trimEnd(),
  ].join('; ');
  const headers = headerLines(
    `Content-Security-Policy: ${policy}`,
    'X-Content-Type-Options: nosniff',
    'Referrer-Policy: no-referrer',
    `Cache-Control: ${cacheControl}`,
    `Vary: ${vary}`,
  );
  return { type, headers: headers + (options.headers ?? ''), content };
}

export function pageResource({ type, headers, content }: Page): Resource {
  const body = Buffer.from(content);
  const kind = { ok: headers + headerLines(`Content-Type: ${type}`), notModified: headers };
  return makeResource({ kind, hash: hexOf(hashBytes(body)), headers: '', body });
}

/** The response with a page that must not be cached: an error, or what differs from moment to moment. */
export function uncachedPage(status: number, { type, headers, content }: Page): PreparedResponse {
  const body = Buffer.from(content);
  const own = headerLines(`Content-Type: ${type}`, `Content-Length: ${body.length}`);
  return { status, headers: headers + own, body };
}

/** An error in both forms, made once. */
export interface SiteError {
  readonly json: PreparedResponse;
  readonly page: PreparedResponse;
}

/**
 * @param frame of its page
 * @param error for programs: the text of the JSON
 * @param title, @param text for people: what happened, and what to do
 */
export function prepareSiteError(
  frame: SiteFrame,
  status: number,
  error: string,
  title: string,
  text: string,
  headers: HeaderLines = '',
): SiteError {
  const page = renderPage({
    ...frame,
    title,
    body: html`<p class="faint">Error ${status}</p>
      <h1>${title}</h1>
      <p class="lead">${text}</p>
      <p class="actions"><a class="button" href="/">Go to the start page</a> <a class="button quiet" href="/docs">Read the docs</a></p>`,
  });
  const options = { cacheControl: 'no-store', vary: 'Accept', headers };
  return {
    json: prepareError(status, error, `Vary: Accept\r\n${headers}`),
    page: uncachedPage(status, makePage(HTML, page.toString(), options)),
  };
}

/**
 * The error for a request that is not well-formed.
 * @param fault what is wrong with it, without a full stop and without anything of the request
 */
export function prepareBadRequest(frame: SiteFrame, fault: string): SiteError {
  const title = 'Your browser sent something that we cannot read';
  return prepareSiteError(frame, 400, fault, title, `${fault}.`);
}

/** Whether the client names text/html, as every browser does for a page. Programs send "*" or nothing. */
const ACCEPTS_HTML = /(?:^|,)\s*text\/html\s*(?:;(?!\s*q=0(?:\.0*)?\s*(?:,|$))|,|$)/i;

/**
 * Sends an error in the form that suits the request.
 * @param isLast whether the connection is closed after it: the body of the request may not have been read
 */
export function sendError(
  { headers: { accept = '' } }: IncomingMessage,
  response: ServerResponse,
  { json, page }: SiteError,
  isLast = false,
): void {
  toResponder(response).send({ ...(ACCEPTS_HTML.test(accept) ? page : json), isLast });
}

/**
 * Sends visitors who typed an address with a slash at its end to the page without it. The new address is a
 * path, so it never leads to another host.
 * @param target whose path is that of a page and a slash, and does not begin with two slashes
 */
export function withoutSlash(target = ''): PreparedResponse {
  const location = target.replace(/\/(?:\??$|(?=\?))/, '');
  const headers = headerLines(`Location: ${location}`, 'Content-Length: 0');
  return { status: 308, headers, body: NO_BODY };
}
