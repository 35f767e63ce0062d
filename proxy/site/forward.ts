/**
 * The only requests that the proxy forwards: /account and /moderation go to the pages of API
 * keys, which run as a process of their own. A request is read whole, within bounds, before it is
 * sent on, each on a connection of its own: none can be smuggled behind another.
 */
import { Agent, type IncomingMessage, type ServerResponse } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { BlockList } from 'node:net';
import { Readable } from 'node:stream';
import { createProxyServer } from 'httpxy';
import type { Logger } from 'pino';
import { mostForwards } from '../../program/connections.ts';
import type { SiteHandler } from '../http/dispatch.ts';
import { end } from '../http/node-response.ts';
import { isTrusted, withoutMapping } from '../limits/client-address.ts';

/** In bytes; what the pages take. */
const LARGEST_BODY = 64 * 1024;
const UPSTREAM_TIMEOUT_MS = 30_000;
const FORWARDED_PATH = /^\/(?:account|moderation)(?:\/|$)/;
/** Of one connection only (RFC 9110 section 7.6.1), or written anew. */
const DROPPED_FIELDS = [
  ...['connection', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
  ...['proxy-authorization', 'proxy-authenticate', 'proxy-connection', 'expect'],
  ...['forwarded', 'x-forwarded-host', 'x-forwarded-port', 'x-real-ip', 'x-api-key'],
];

export interface ForwardParts {
  /** Where the pages listen, without a slash at the end. */
  readonly accountUrl: string;
  readonly trustedProxies: BlockList;
  /** How many requests may be forwarded at once. */
  readonly connections: Float64Array;
  readonly log: Logger;
}

/**
 * The site with the account pages in it.
 * @returns the site as it was where `accountUrl` is empty
 */
export function withForwarding(site: SiteHandler, parts: ForwardParts): SiteHandler {
  if (parts.accountUrl === '') return site;
  const forward = makeForwarder(parts);
  return (request, response, path) => {
    if (FORWARDED_PATH.test(path)) forward(request, response);
    else site(request, response, path);
  };
}

/** Answers a request to the pages, whatever becomes of it. */
function makeForwarder({ accountUrl, trustedProxies: trusted, connections, log }: ForwardParts) {
  // Connections are not reused, so that none serves two clients. Requests beyond the most that the
  // agent may have wait for one: a single client may send any number at once.
  const agent = new (accountUrl.startsWith('https:') ? HttpsAgent : Agent)({ keepAlive: false });
  const upstream = createProxyServer({
    target: accountUrl,
    agent,
    proxyTimeout: UPSTREAM_TIMEOUT_MS,
    xfwd: false,
  });

  return function forward(request: IncomingMessage, response: ServerResponse): void {
    agent.maxSockets = mostForwards(connections);
    handOn(request, response).catch((error) => {
      // Without the target: it may hold a token of an e-mailed link.
      log.error({ err: error }, 'cannot forward to the account pages');
      if (response.headersSent) response.destroy();
      else
        refuse(
          response,
          502,
          'Not reachable',
          'The account pages are not running. Try again in a while; the API itself goes on.',
        );
    });
  };

  async function handOn(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { headers, httpVersion, rawHeaders } = request;
    const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && /^host$/i.test(name));
    if (hosts.length !== 1 || (httpVersion !== '1.1' && httpVersion !== '1.0')) {
      refuse(response, 400, 'Bad request', 'A request must be HTTP/1.1 with exactly one Host.');
      return;
    }
    if (headers['transfer-encoding'] !== undefined) {
      refuse(response, 411, 'Length required', 'A form must say its length.');
      return;
    }
    const length = Number(headers['content-length'] ?? 0);
    if (length > LARGEST_BODY) {
      refuse(response, 413, 'Too large', `A form may have ${LARGEST_BODY} bytes.`);
      return;
    }
    if (headers.expect !== undefined) response.writeContinue();
    const body = length === 0 ? undefined : await readBody(request);
    if (length > 0 && body === undefined) return;
    const ofConnection = (headers.connection ?? '')
      .split(',')
      .map((name) => name.trim().toLowerCase());
    for (const name of [...ofConnection, ...DROPPED_FIELDS]) delete headers[name];
    // Named by Connection, it would be gone, and the body would have no end.
    if (body !== undefined || (request.method !== 'GET' && request.method !== 'HEAD')) {
      headers['content-length'] = String(body?.length ?? 0);
    }
    // An agent with `maxSockets` would reuse its connections for requests that wait.
    headers.connection = 'close';
    const peer = withoutMapping(request.socket.remoteAddress ?? '');
    const isPeerTrusted = isTrusted(peer, trusted);
    const before = isPeerTrusted ? headers['x-forwarded-for'] : undefined;
    headers['x-forwarded-for'] = before === undefined ? peer : `${before}, ${peer}`;
    const isTls = isPeerTrusted && headers['x-forwarded-proto'] === 'https';
    headers['x-forwarded-proto'] = isTls ? 'https' : 'http';
    await upstream.web(request, response, {
      buffer: Readable.from(body === undefined ? [] : [body]),
    });
  }
}

/** The whole body; undefined when the client broke it off, which ends its connection. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  try {
    return Buffer.concat(await request.toArray());
  } catch {
    return undefined;
  }
}

/** The texts hold nothing from the request. */
function refuse(response: ServerResponse, status: number, title: string, text: string): void {
  const body = Buffer.from(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/site.css">
<link rel="stylesheet" href="/start.css">
<main><h1>${title}</h1><p>${text}</p></main>
</html>
`);
  response.writeHead(status, [
    ...['Content-Type', 'text/html; charset=utf-8', 'Content-Length', String(body.length)],
    ...[
      'Content-Security-Policy',
      "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ],
    ...['X-Content-Type-Options', 'nosniff', 'Referrer-Policy', 'no-referrer'],
    ...['Cache-Control', 'no-store', 'Connection', 'close'],
    ...(status === 502 ? ['Retry-After', '5'] : []),
  ]);
  end(response, body);
}
