/**
 * Forwards /account and /moderation to the account pages, which are a separate process. The proxy
 * forwards nothing else. It reads a whole request of limited size before it forwards it, and opens a
 * new connection for each one. So no request can be smuggled in behind another.
 *
 * What clients can hold is bounded: a connection carries one forwarded request, only so many requests wait
 * for the account pages, and a client that does not read its page in time loses its connection.
 */
import { Agent, type IncomingMessage, type ServerResponse } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { BlockList, Socket } from 'node:net';
import { Readable } from 'node:stream';
import { createProxyServer } from 'httpxy';
import type { Logger } from 'pino';
import { isTrusted, withoutMapping } from '../../program/client-address.ts';
import type { SiteHandler } from '../http/dispatch.ts';
import { LONGEST_DRAIN_MS, limitDrain } from '../http/node-response.ts';
import { prepareBadRequest, prepareSiteError, refuse } from './error-page.ts';

/** In bytes; the account pages accept no larger body. */
const LARGEST_BODY = 64 * 1024;
const UPSTREAM_TIMEOUT_MS = 30_000;
const FORWARDED_PATH = /^\/(?:account|moderation)(?:\/|$)/;
/** Fields that apply to one connection only (RFC 9110 section 7.6.1), or must not be forwarded. */
const DROPPED_FIELDS = [
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'proxy-authorization',
  'proxy-authenticate',
  'proxy-connection',
  'expect',
  'forwarded',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-real-ip',
  'x-api-key',
];

/** Forwarded requests of one thread at the same time. Each has a connection of its own. */
const MOST_FORWARDS = 64;

const NOT_RUNNING = prepareSiteError({
  status: 502,
  error: 'The account pages are not running',
  title: 'The account pages are not running',
  text: 'Try again in a few minutes. The API itself keeps working.',
  headers: ['Retry-After', '5'],
});
const BUSY = prepareSiteError({
  status: 503,
  error: 'The account pages are busy',
  title: 'The account pages are busy',
  text: 'Try again in a few seconds. The API itself keeps working.',
  headers: ['Retry-After', '5'],
});
const BAD_REQUEST = prepareBadRequest(
  'A request must use HTTP/1.1 and have exactly one Host header',
);
const LENGTH_REQUIRED = prepareSiteError({
  status: 411,
  error: 'A form must be sent with Content-Length',
  title: 'Your browser sent a form without its length',
  text: 'A form must be sent with Content-Length.',
});
const TOO_LARGE = prepareSiteError({
  status: 413,
  error: `A form may have at most ${LARGEST_BODY} bytes`,
  title: 'That is too much text',
  text: 'Go back, shorten what you typed, and send it again.',
});

export interface ForwardParts {
  /** The URL of the account pages, without a slash at the end; empty: nothing is forwarded. */
  readonly accountUrl: string;
  readonly trustedProxies: BlockList;
  /** How many requests may be forwarded at once; as many more wait. */
  readonly mostForwards?: number;
  readonly log: Logger;
  /** How long a client may take to read a page, in milliseconds; by default as for the API. */
  readonly longestDrainMs?: number;
}

/**
 * Adds the account pages to the site.
 * @returns the unchanged site if `accountUrl` is empty
 */
export function withForwarding(site: SiteHandler, parts: ForwardParts): SiteHandler {
  if (parts.accountUrl === '') return site;
  const forward = makeForwarder(parts);
  return (request, response, path) => {
    if (FORWARDED_PATH.test(path)) forward(request, response);
    else site(request, response, path);
  };
}

/** @returns a function that forwards a request; if that fails, it answers with an error page */
function makeForwarder(parts: ForwardParts) {
  const { accountUrl, trustedProxies: trusted, log } = parts;
  const { longestDrainMs = LONGEST_DRAIN_MS, mostForwards = MOST_FORWARDS } = parts;
  // Connections are not reused, so that none serves two clients. When `maxSockets` are open, further
  // requests wait, up to the same number: a single client can send any number at once.
  const agent = new (accountUrl.startsWith('https:') ? HttpsAgent : Agent)({
    keepAlive: false,
    maxSockets: mostForwards,
  });
  const upstream = createProxyServer({
    target: accountUrl,
    agent,
    proxyTimeout: UPSTREAM_TIMEOUT_MS,
    xfwd: false,
    selfHandleResponse: true,
  });
  upstream.on('proxyRes', sendOn);
  /** The connections with a forwarded request. */
  const taken = new WeakSet<Socket>();
  /** Those whose request waits for the account pages or is being answered by them. */
  const waiting = new Set<Socket>();

  return function forward(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    // It came behind another request, whose response closes the connection.
    if (taken.has(socket)) return;
    taken.add(socket);
    handOn(request, response).catch((error) => {
      waiting.delete(socket);
      // The target is not logged: it may contain the token of an e-mailed link.
      log.error({ err: error }, 'cannot forward to the account pages');
      if (response.headersSent) response.destroy();
      else refuse(request, response, NOT_RUNNING);
    });
  };

  async function handOn(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { headers, httpVersion, rawHeaders } = request;
    const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && /^host$/i.test(name));
    if (hosts.length !== 1 || (httpVersion !== '1.1' && httpVersion !== '1.0')) {
      refuse(request, response, BAD_REQUEST);
      return;
    }
    if (headers['transfer-encoding'] !== undefined) {
      refuse(request, response, LENGTH_REQUIRED);
      return;
    }
    const length = Number(headers['content-length'] ?? 0);
    if (length > LARGEST_BODY) {
      refuse(request, response, TOO_LARGE);
      return;
    }
    if (headers.expect !== undefined) response.writeContinue();
    const body = length === 0 ? undefined : await readBody(request);
    if (length > 0 && body === undefined) return;
    const namedByConnection = (headers.connection ?? '')
      .split(',')
      .map((name) => name.trim().toLowerCase());
    for (const name of [...namedByConnection, ...DROPPED_FIELDS]) delete headers[name];
    // Set again, in case the Connection field named it: without it, the body would have no end.
    if (body !== undefined || (request.method !== 'GET' && request.method !== 'HEAD')) {
      headers['content-length'] = String(body?.length ?? 0);
    }
    // Otherwise an agent with `maxSockets` reuses its connections for requests that wait.
    headers.connection = 'close';
    const peer = withoutMapping(request.socket.remoteAddress ?? '');
    const isPeerTrusted = isTrusted(peer, trusted);
    const before = isPeerTrusted ? headers['x-forwarded-for'] : undefined;
    headers['x-forwarded-for'] = before === undefined ? peer : `${before}, ${peer}`;
    const isTls = isPeerTrusted && headers['x-forwarded-proto'] === 'https';
    headers['x-forwarded-proto'] = isTls ? 'https' : 'http';
    const { socket } = request;
    if (waiting.size >= agent.maxSockets * 2) {
      refuse(request, response, BUSY);
      return;
    }
    waiting.add(socket);
    socket.once('close', () => waiting.delete(socket));
    await upstream.web(request, response, {
      buffer: Readable.from(body === undefined ? [] : [body]),
    });
  }

  /** Sends the response of the account pages to the client. If it is cut short, `upstream` cuts this one too. */
  function sendOn(page: IncomingMessage, { socket }: IncomingMessage, response: ServerResponse) {
    page.once('close', () => waiting.delete(socket));
    response.writeHead(page.statusCode ?? 502, page.statusMessage, [
      ...endToEnd(page.rawHeaders),
      ...['Connection', 'close'],
    ]);
    limitDrain(response, longestDrainMs);
    page.pipe(response);
  }
}

/** The fields of a response that are for the client, as alternating names and values. */
function endToEnd(rawHeaders: readonly string[]): string[] {
  const isForClient = (name: string) => !DROPPED_FIELDS.includes(name.toLowerCase());
  return rawHeaders.filter((_, index) => isForClient(rawHeaders[index - (index % 2)]));
}

/** The whole body; undefined if the client closed the connection before its end. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  try {
    return Buffer.concat(await request.toArray());
  } catch {
    return undefined;
  }
}
