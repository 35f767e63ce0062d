/**
 * Answers requests for paths outside the base: pages that are made at start, found by their exact path,
 * the status page, and whether a key works. No key is needed. Errors are pages for browsers and JSON for
 * programs.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { SiteHandler } from '../http/dispatch.ts';
import { chooseCoding, matchesEtag } from '../http/message/negotiation.ts';
import { readHead } from '../http/message/request-head.ts';
import type { PreparedResponse } from '../http/message/response.ts';
import { toResponder } from '../http/node-response.ts';
import { withoutSlash } from '../http/trailing-slash.ts';
import type { KeyTable } from '../keys/key-table.ts';
import { errorFor, prepareBadRequest, prepareSiteError } from './error-page.ts';
import { keyStatus } from './key-status.ts';
import { HTML, PAGE_POLICY, pageHeaders } from './page-policies.ts';
import { toResponses } from './page-responses.ts';
import type { SitePages } from './site.ts';
import { makeStatusPage, type StatusParts } from './status-page.ts';

const NOT_FOUND = prepareSiteError({
  status: 404,
  error: 'Not found',
  title: 'There is no such page',
  text: 'The address may be mistyped, or the page has moved.',
});
const METHOD_NOT_ALLOWED = prepareSiteError({
  status: 405,
  error: 'Method not allowed',
  title: 'This page can only be read',
  text: 'It does not accept this kind of request.',
  headers: ['Allow', 'GET, HEAD'],
});
const INTERNAL_ERROR = prepareSiteError({
  status: 500,
  error: 'Internal error',
  title: 'Something went wrong on our side',
  text: 'The error has been logged. Try again in a few minutes.',
});

export interface SiteParts extends StatusParts {
  /** From `openSite`. */
  readonly pages: SitePages;
  readonly keys: Pick<KeyTable, 'byHash'>;
  readonly log: Logger;
}

export function makeSiteHandler(parts: SiteParts): SiteHandler {
  const pages = new Map([...parts.pages].map(([path, content]) => [path, toResponses(content)]));
  const statusPage = makeStatusPage(parts);

  return function handleSite(
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
  ): void {
    const { send } = toResponder(response);
    const { fault, ifNoneMatch, acceptEncoding } = readHead(request);
    const { accept } = request.headers;
    if (fault !== undefined) {
      send(errorFor(accept, prepareBadRequest(fault)), '', true);
      return;
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      send(errorFor(accept, METHOD_NOT_ALLOWED));
      return;
    }
    if (path === '/status') {
      statusPage().then(
        (page) => send(uncachedPage(page.toString())),
        (error) => {
          parts.log.error({ err: error }, 'cannot make the status page');
          send(errorFor(accept, INTERNAL_ERROR));
        },
      );
      return;
    }
    const ofKey = keyStatus(path, parts.keys);
    if (ofKey !== undefined) {
      send(ofKey);
      return;
    }
    const page = pages.get(path);
    if (page === undefined) {
      const trimmed = path.slice(0, -1);
      const isSlashed = path.endsWith('/') && (pages.has(trimmed) || trimmed === '/status');
      send(isSlashed && trimmed !== '/' ? withoutSlash(request) : errorFor(accept, NOT_FOUND));
      return;
    }
    const { etag, whole, notModified } = page[chooseCoding(acceptEncoding)] ?? page.identity;
    const isKnown = ifNoneMatch !== undefined && matchesEtag(ifNoneMatch, etag);
    send(isKnown ? notModified : whole);
  };
}

/** A page that must not be cached, because it is different from one moment to the next. */
function uncachedPage(text: string): PreparedResponse {
  const body = Buffer.from(text);
  const headers = [
    ...pageHeaders(HTML, PAGE_POLICY),
    ...['Cache-Control', 'no-store', 'Content-Length', String(body.length)],
  ];
  return { head: { status: 200, headers }, headers: [], body };
}
