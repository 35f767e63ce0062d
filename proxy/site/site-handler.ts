/**
 * Answers paths outside the base: the start page, the API reference and the contract, all of them
 * made at start and looked up by their exact path. No key is needed.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { chooseCoding, matchesEtag } from '../http/negotiation.ts';
import { end, toResponder } from '../http/node-response.ts';
import { readHead } from '../http/request-head.ts';
import { sendSiteError } from '../http/send.ts';
import type { SiteHandler } from '../http/server.ts';
import { openSite } from './site.ts';

export function makeSiteHandler(): SiteHandler {
  const pages = openSite();

  return function handleSite(
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
  ): void {
    const { fault, ifNoneMatch, acceptEncoding } = readHead(request);
    if (fault !== undefined) {
      sendSiteError(toResponder(response), 400, fault, '', true);
      return;
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      sendSiteError(toResponder(response), 405, 'Method not allowed', 'Allow: GET, HEAD\r\n');
      return;
    }
    const page = pages.get(path);
    if (page === undefined) {
      sendSiteError(toResponder(response), 404, 'Not found');
      return;
    }
    const wanted = chooseCoding(acceptEncoding);
    const body = page.bodies[wanted] ?? page.bodies.identity;
    const fields = [...page.headers, 'ETag', body.etag, 'Vary', 'Accept-Encoding'];
    if (ifNoneMatch !== undefined && matchesEtag(ifNoneMatch, body.etag)) {
      response.writeHead(304, fields);
      end(response, undefined, 'latin1');
      return;
    }
    fields.push('Content-Length', String(body.bytes.length));
    if (body.coding !== 'identity') fields.push('Content-Encoding', body.coding);
    response.writeHead(200, fields);
    end(response, body.bytes, 'latin1');
  };
}
