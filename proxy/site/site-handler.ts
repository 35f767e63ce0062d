/**
 * Answers requests for paths outside the base: the start page, the API reference and the OpenAPI
 * contract. All responses are made at start and found by the exact path. No key is needed.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { SiteHandler } from '../http/dispatch.ts';
import { chooseCoding, matchesEtag } from '../http/message/negotiation.ts';
import { readHead } from '../http/message/request-head.ts';
import { prepareError } from '../http/message/response.ts';
import { toResponder } from '../http/node-response.ts';
import { openSite } from './site.ts';

const NOT_FOUND = prepareError(404, 'Not found');
const METHOD_NOT_ALLOWED = prepareError(405, 'Method not allowed', ['Allow', 'GET, HEAD']);

export function makeSiteHandler(publicUrl: string): SiteHandler {
  const pages = openSite(publicUrl);

  return function handleSite(
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
  ): void {
    const { send } = toResponder(response);
    const { fault, ifNoneMatch, acceptEncoding } = readHead(request);
    if (fault !== undefined) {
      send(prepareError(400, fault), [], true);
      return;
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      send(METHOD_NOT_ALLOWED);
      return;
    }
    const page = pages.get(path);
    if (page === undefined) {
      send(NOT_FOUND);
      return;
    }
    const { etag, whole, notModified } = page[chooseCoding(acceptEncoding)] ?? page.identity;
    const isKnown = ifNoneMatch !== undefined && matchesEtag(ifNoneMatch, etag);
    send(isKnown ? notModified : whole);
  };
}
