/**
 * Passes a request that Node's HTTP server has read to the API if its path is under the base, otherwise
 * to the site. Errors that nothing else caught are answered here.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { toResponder } from './node-response.ts';
import { BASE, readHead, splitTarget } from './request.ts';
import { type ApiHandler, prepareError, type Responder } from './response.ts';

const BAD_TARGET = prepareError(400, 'The request target must be a path');
const INTERNAL_ERROR = prepareError(500, 'Internal error');
const UNDER_BASE = new RegExp(`^${BASE}(?=[/?]|$)`);

/** Answers a path outside the base. */
export type SiteHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
) => void;

export function dispatch(
  request: IncomingMessage,
  response: ServerResponse,
  api: ApiHandler,
  site: SiteHandler,
): void {
  const target = originForm(request.url ?? '');
  if (target === undefined) {
    toResponder(response).send(BAD_TARGET, '', true);
  } else if (UNDER_BASE.test(target)) {
    const { method = '', socket } = request;
    const head = readHead(request);
    api({ method, socket, head, target: target.slice(BASE.length) }, toResponder(response));
  } else {
    // Later readers of `request.url` must not see the host that the client chose.
    request.url = target;
    const [path] = splitTarget(target);
    site(request, response, path);
  }
}

/** Logs an error and sends 500. If a response has already begun, closes the connection instead. */
export function answerFailure(error: unknown, response: Responder, log: Logger): void {
  log.error({ err: error }, 'a request failed');
  if (response.isSent()) response.destroy();
  else response.send(INTERNAL_ERROR, '', true);
}

/**
 * The path and query of a request target; undefined if it has neither origin nor absolute form. Servers
 * must accept the absolute form (RFC 9112 section 3.2.2). Its scheme and host are ignored here.
 */
function originForm(target: string): string | undefined {
  if (target.startsWith('/')) return target;
  const [authority] = /^https?:\/\/[^/?#]*/i.exec(target) ?? [];
  if (authority === undefined) return undefined;
  const rest = target.slice(authority.length);
  return rest.startsWith('/') ? rest : `/${rest}`;
}
