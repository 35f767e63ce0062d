/**
 * Forwards /account and /moderation to the account pages, which are a separate process. The proxy
 * forwards nothing else. It reads a whole request of limited size before it forwards it, and opens a
 * new connection for each one. So no request can be smuggled in behind another.
 *
 * What clients can hold is bounded: a limited number of requests is forwarded at the same time, by client address,
 * and a client that does not read its page in time loses its connection.
 */
import { once } from 'node:events';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import https from 'node:https';
import type { BlockList } from 'node:net';
import { urlToHttpOptions } from 'node:url';
import type { Logger } from 'pino';
import type { SiteFrame } from '../lib/pages/layout.ts';
import { clientAddress, isTrusted, withoutMapping } from '../lib/program/client-address.ts';
import { unlessActive } from '../lib/program/time-limit.ts';
import { makeSlots } from '../proxy/admit/limits/slots.ts';
import { LONGEST_DRAIN_MS, toResponder } from '../proxy/http/node-response.ts';
import { isHost } from '../proxy/http/request.ts';
import type { HeaderLines } from '../proxy/http/response.ts';
import type { SiteHandler } from '../proxy/http/server.ts';
import {
  prepareBadRequest,
  prepareSiteError,
  type SiteError,
  sendError,
} from './static/page-responses.ts';

/** In bytes; the account pages accept no larger body. */
const LARGEST_BODY = 64 * 1024;
const LIMITS = {
  /** Forwarded requests of one thread at the same time. */
  mostForwards: 64,
  /** How long the account pages may be silent. */
  longestSilenceMs: 30_000,
  /** How long a client may take nothing of its page. */
  longestDrainMs: LONGEST_DRAIN_MS,
};
const FORWARDED_PATH = /^\/(?:account|moderation)(?:\/|$)/;
/** Fields that apply to one connection only (RFC 9110 section 7.6.1), or must not be forwarded. */
const DROPPED_FIELDS = `connection keep-alive te trailer transfer-encoding upgrade expect
  proxy-authorization proxy-authenticate proxy-connection x-api-key
  forwarded x-forwarded-host x-forwarded-port x-real-ip`.split(/\s+/);

/** Made once at start. */
function prepareErrors(frame: SiteFrame) {
  return {
    notAvailable: prepareSiteError(
      frame,
      503,
      'The account pages are not available',
      'The account pages are not available',
      'Try again in a minute. The API itself keeps working.',
      'Retry-After: 5\r\n',
    ),
    tooMany: prepareSiteError(
      frame,
      429,
      'Too many requests at once',
      'Too many requests at once',
      'Try again in a few seconds.',
      'Retry-After: 5\r\n',
    ),
    badRequest: prepareBadRequest(
      frame,
      'A request must use HTTP/1.1 and have exactly one valid Host header',
    ),
    tooLarge: prepareSiteError(
      frame,
      413,
      `A form must be sent with Content-Length and have at most ${LARGEST_BODY} bytes`,
      'That is too much text',
      'Go back, shorten what you typed, and send it again.',
    ),
  };
}

export interface ForwardParts {
  readonly frame: SiteFrame;
  /**
   * The URL of the account pages, without a slash at the end. Empty if nginx forwards to them, and asks here only
   * for the page that says they are not available.
   */
  readonly accountUrl: string;
  readonly trustedProxies: BlockList;
  readonly log: Logger;
  /** What tests replace. */
  readonly limits?: Partial<typeof LIMITS>;
}

/** Adds the account pages to the site. */
export function withForwarding(
  site: SiteHandler,
  { frame, accountUrl, trustedProxies, log, limits }: ForwardParts,
): SiteHandler {
  const errors = prepareErrors(frame);
  if (accountUrl === '') {
    return (request, response, path) => {
      if (!FORWARDED_PATH.test(path)) site(request, response, path);
      else sendError(request, response, errors.notAvailable, true);
    };
  }
  const { mostForwards, longestSilenceMs, longestDrainMs } = { ...LIMITS, ...limits };
  const url = new URL(accountUrl);
  const { request: send } = url.protocol === 'https:' ? https : http;
  const upstream = {
    ...urlToHttpOptions(url),
    // A connection of its own for each request, so that none serves two clients.
    agent: false,
    timeout: longestSilenceMs,
  };
  const slots = makeSlots(mostForwards);

  async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, headers, socket } = request;
    const fault = faultOf(request, errors);
    if (fault !== undefined) return sendError(request, response, fault, true);
    if (headers.expect !== undefined) response.writeContinue();
    const body = Buffer.concat(await request.toArray());
    const forwardedFor = headers['x-forwarded-for'] as string | undefined;
    const client = clientAddress(socket.remoteAddress, forwardedFor, trustedProxies);
    if (!slots.take(client)) return sendError(request, response, errors.tooMany);
    try {
      setForwardedFields(request, body.length, trustedProxies);
      const path = url.pathname.replace(/\/$/, '') + request.url;
      const forwarded = send({ ...upstream, method, headers, path });
      const giveUp = () =>
        forwarded.destroy(new Error('the account pages have not answered in time'));
      // After the response, errors reach the page, too; without a listener they would end this process.
      forwarded.on('error', () => {});
      forwarded.once('socket', (socket) =>
        socket.on('timeout', () => unlessActive(socket, giveUp)),
      );
      response.once('close', () => forwarded.destroy());
      const [page]: IncomingMessage[] = await once(forwarded.end(body), 'response');
      const head = { status: page.statusCode ?? 502, headers: endToEnd(page.rawHeaders) };
      // If the page is cut short, so is this response.
      const leastRate = { bytes: 1, milliseconds: longestDrainMs };
      await toResponder(response, leastRate).sendPieces({ ...head, pieces: page });
    } finally {
      slots.release(client);
    }
  }

  return (request, response, path) => {
    if (!FORWARDED_PATH.test(path)) {
      site(request, response, path);
      return;
    }
    forward(request, response).catch((error) => {
      if (response.destroyed) return;
      // The target is not logged: it may contain the token of an e-mailed link.
      log.error({ err: error }, 'cannot forward to the account pages');
      if (response.headersSent) response.destroy();
      else sendError(request, response, errors.notAvailable);
    });
  };
}

/** Why a request is not forwarded; undefined if it is. */
function faultOf(
  { headers, headersDistinct, httpVersion }: IncomingMessage,
  { badRequest, tooLarge }: Readonly<Record<'badRequest' | 'tooLarge', SiteError>>,
): SiteError | undefined {
  const [host, ...others] = headersDistinct.host ?? [];
  const hasHost = host !== undefined && others.length === 0 && isHost(host);
  if (!hasHost || !/^1\.[01]$/.test(httpVersion)) return badRequest;
  const isTooLarge = Number(headers['content-length'] ?? 0) > LARGEST_BODY;
  return isTooLarge || headers['transfer-encoding'] !== undefined ? tooLarge : undefined;
}

/** Removes the fields of the connection, and sets those about the client and the body. */
function setForwardedFields(
  { headers, method, socket }: IncomingMessage,
  length: number,
  trustedProxies: BlockList,
): void {
  const ofConnection = (headers.connection ?? '').toLowerCase().split(/\s*,\s*/);
  for (const name of [...ofConnection, ...DROPPED_FIELDS]) delete headers[name.trim()];
  // Set again, in case the Connection field named it: without it, the body would have no end.
  if (length > 0 || (method !== 'GET' && method !== 'HEAD')) {
    headers['content-length'] = String(length);
  }
  const peer = withoutMapping(socket.remoteAddress ?? '');
  const claims = isTrusted(peer, trustedProxies) ? headers : {};
  const before = claims['x-forwarded-for'];
  const isTls = claims['x-forwarded-proto'] === 'https';
  headers['x-forwarded-for'] = before === undefined ? peer : `${before}, ${peer}`;
  headers['x-forwarded-proto'] = isTls ? 'https' : 'http';
}

/** The fields of a response that are for the client. */
function endToEnd(rawHeaders: readonly string[]): HeaderLines {
  let lines = '';
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const [name, value] = rawHeaders.slice(i, i + 2);
    if (!DROPPED_FIELDS.includes(name.toLowerCase())) lines += `${name}: ${value}\r\n`;
  }
  return lines;
}
