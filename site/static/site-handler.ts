/**
 * Answers requests for paths outside the base: fixed pages, found by their exact path, what other parts of
 * the site answer, and whether a key works. No key is needed. Errors are pages for browsers and JSON for
 * programs.
 */
import type { IncomingMessage } from 'node:http';
import type { Logger } from 'pino';
import type { SiteFrame } from '../../lib/pages/layout.ts';
import { isValid, type KeyTable } from '../../proxy/admit/keys/key-table.ts';
import { toResponder } from '../../proxy/http/node-response.ts';
import { type RequestHead, readHead } from '../../proxy/http/request.ts';
import { type Resource, respond } from '../../proxy/http/resource.ts';
import { INTERNAL_ERROR, JSON_TYPE, type PreparedResponse } from '../../proxy/http/response.ts';
import type { SiteHandler } from '../../proxy/http/server.ts';
import {
  makePage,
  prepareBadRequest,
  prepareSiteError,
  sendError,
  uncachedPage,
  withoutSlash,
} from './page-responses.ts';

/** Answers a request to read some path. @returns undefined if another part of the site may have the path */
export type SiteAnswer = (
  path: string,
  request: IncomingMessage,
  head: RequestHead,
) => PreparedResponse | Promise<PreparedResponse> | undefined;

interface SiteHandlerParts {
  readonly frame: SiteFrame;
  /** The page at a path; undefined if there is none. */
  readonly pageAt: (path: string) => Promise<Resource> | undefined;
  readonly others: readonly SiteAnswer[];
  readonly keys: Pick<KeyTable, 'byHash'>;
  readonly log: Logger;
}

export function makeSiteHandler({
  frame,
  pageAt,
  others,
  keys,
  log,
}: SiteHandlerParts): SiteHandler {
  const notFound = prepareSiteError(
    frame,
    404,
    'Not found',
    'There is no such page',
    'The address may be mistyped, or the page has moved.',
  );
  const methodNotAllowed = prepareSiteError(
    frame,
    405,
    'Method not allowed',
    'This page can only be read',
    'It does not accept this kind of request.',
    'Allow: GET, HEAD\r\n',
  );
  const fixed: SiteAnswer = (path, _, head) => {
    const page = pageAt(path);
    if (page !== undefined) return page.then((it) => respond(it, head));
    const isPage = /[^/]\/$/.test(path) && pageAt(path.slice(0, -1)) !== undefined;
    // These pages read no query, and one may hold a key.
    return isPage ? withoutSlash(path) : undefined;
  };
  const answers = [fixed, ...others, (path: string) => keyStatus(path, keys)];

  return async function handleSite(request, response, path) {
    const { send } = toResponder(response);
    const head = readHead(request);
    if (head.fault !== undefined) {
      return sendError(request, response, prepareBadRequest(frame, head.fault.text), true);
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      return sendError(request, response, methodNotAllowed);
    }
    try {
      for (const answer of answers) {
        const found = answer(path, request, head);
        if (found !== undefined) return send(await found);
      }
      sendError(request, response, notFound);
    } catch (error) {
      log.error({ err: error }, 'cannot make a page');
      send(INTERNAL_ERROR);
    }
  };
}

/**
 * /key-status/<SHA-256 of a key>: whether the API accepts the key, as JSON. The account pages ask this
 * before they show a new key, so that it works as soon as its owner copies it. No limit applies, because
 * a look-up costs less than any page. Nobody can guess the hash of a key.
 * @returns undefined if the path is another one
 */
function keyStatus(
  path: string,
  { byHash }: SiteHandlerParts['keys'],
): PreparedResponse | undefined {
  const hash = /^\/key-status\/([0-9a-f]{64})$/.exec(path)?.[1];
  if (hash === undefined) return undefined;
  const key = byHash(hash);
  const text = JSON.stringify({ works: key !== undefined && isValid(key) });
  return uncachedPage(200, makePage(JSON_TYPE, text, { cacheControl: 'no-store' }));
}
