/**
 * Sends visitors who typed an address with a slash at its end to the page without it. The new address is
 * a path, so it never leads to another host.
 */
import type { IncomingMessage } from 'node:http';
import type { PreparedResponse } from './message/response.ts';
import { splitTarget } from './message/target.ts';

/** @param request whose path is that of a page and a slash, and does not begin with two slashes */
export function withoutSlash(request: IncomingMessage): PreparedResponse {
  const [path, queryString] = splitTarget(request.url ?? '');
  const query = queryString === '' ? '' : `?${queryString}`;
  const headers = ['Location', path.slice(0, -1) + query, 'Content-Length', '0'];
  return { head: { status: 308, headers }, headers: [], body: Buffer.alloc(0) };
}
