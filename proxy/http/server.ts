/**
 * The public HTTP server. The fast path reads each connection first. At the first unusual request it
 * hands the connection over to Node's HTTP server. Both send the same responses. A request whose path is
 * under the base goes to the API, every other one to the site.
 */
import { createServer, type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import { createServer as createNetServer, type Socket } from 'node:net';
import type { Logger } from 'pino';
import { makeConnections, newConnectionCells } from '../../lib/program/connections.ts';
import { dateLine, makeFastPath, refusePieces } from './fast-path.ts';
import { LONGEST_DRAIN_MS, toResponder } from './node-response.ts';
import { BASE, readHead, splitTarget } from './request.ts';
import {
  type ApiHandler,
  type HeaderLines,
  INTERNAL_ERROR,
  type PreparedResponse,
  prepareError,
} from './response.ts';
import { readUnknownMethod } from './unknown-method.ts';

/** The most bytes that the request line and the header fields may have together. */
const LARGEST_HEAD = 16 * 1024;

const BAD_TARGET = { ...prepareError(400, 'The request target must be a path'), isLast: true };
const METHOD_NOT_ALLOWED = prepareError(405, 'Method not allowed', 'Allow: GET, HEAD\r\n');
const UNDER_BASE = new RegExp(`^${BASE}(?=[/?]|$)`);

/** Answers a path outside the base. */
export type SiteHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
) => void;

/** How long a client may take, in milliseconds. */
export interface ClientTimes {
  /** For the head of a request; on the fast path, for the first byte of a connection. */
  readonly head: number;
  /** For a whole request. */
  readonly request: number;
  /** How often Node looks for requests that take too long. */
  readonly check: number;
  /** How long a connection is kept between requests. */
  readonly keepAlive: number;
}

const CLIENT_TIMES: ClientTimes = {
  head: 10_000,
  request: 15_000,
  check: 2_000,
  // Longer than nginx keeps an idle upstream connection (60 s): nginx must close first, or it could
  // send a request while the proxy closes the connection.
  keepAlive: 65_000,
};

export interface ServerOptions {
  readonly times?: ClientTimes;
  /** The limit and counts of the server's connections, from `newConnectionCells`. */
  readonly connections?: Float64Array;
}

export function makeServer(
  api: ApiHandler,
  site: SiteHandler,
  log: Logger,
  options: ServerOptions = {},
) {
  const { times = CLIENT_TIMES, connections: cells = newConnectionCells() } = options;
  let isEnding = false;
  const connections = makeConnections(cells, log);
  const node = makeNodeServer(times, onRequest);
  /** Connections whose last request Node could not read. What follows it does not matter. */
  const refused = new WeakSet<Socket>();
  node.on('clientError', (error: ClientError, socket: Socket) => {
    if (refused.has(socket)) return;
    refused.add(socket);
    const before = connections.responseOf(socket);
    const answer = () => {
      if (socket.writable) answerClientError(error, socket, api);
      else socket.destroy();
    };
    // The responses to the requests before it come first.
    if (before === undefined || before.closed || !socket.writable) answer();
    else before.once('close', answer);
  });
  const fastPath = makeFastPath({
    api,
    connections,
    // The documented way to inject a connection.
    handOver: (socket) => node.emit('connection', socket),
    onSilence: (socket) => endWithError(socket, 408, 'Request timeout'),
    firstByteMs: times.head,
    keepAliveMs: times.keepAlive,
  });
  // As Node's HTTP server opens its own connections.
  const server = createNetServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    if (connections.take(socket)) fastPath.take(socket);
  });
  // From then on, Node looks for requests that take too long.
  server.on('listening', () => node.emit('listening'));

  function onRequest(request: IncomingMessage, response: ServerResponse): void {
    connections.useFor(response);
    // A connection that is kept alive would delay the stop. After an Upgrade request, whatever forwards
    // the connection may take the rest of it for another protocol, so it carries no further request.
    if (isEnding || request.headers.upgrade !== undefined) response.shouldKeepAlive = false;
    try {
      dispatch(request, response, api, site);
    } catch (error) {
      log.error({ err: error }, 'a request failed');
      if (response.headersSent) response.destroy();
      else toResponder(response).send(INTERNAL_ERROR);
    }
  }

  return {
    /** Call its `listen`, but close it with the functions below. */
    server,
    /** From now on, each response tells its client that the connection will be closed after it. */
    announceEnd(): void {
      isEnding = true;
      fastPath.announceEnd();
    },
    /** Stops listening. @param onClosed called when all connections are closed */
    close(onClosed: () => void): void {
      server.close(onClosed);
      // It never listened. This ends its timer.
      node.close(() => {});
    },
    closeIdleConnections(): void {
      node.closeIdleConnections();
      fastPath.closeIdle();
    },
    closeAllConnections(): void {
      node.closeAllConnections();
      fastPath.closeAll();
    },
  };
}

function dispatch(
  request: IncomingMessage,
  response: ServerResponse,
  api: ApiHandler,
  site: SiteHandler,
): void {
  const target = originForm(request.url ?? '');
  if (target === undefined) {
    toResponder(response).send(BAD_TARGET);
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

function makeNodeServer(
  times: ClientTimes,
  onRequest: (request: IncomingMessage, response: ServerResponse) => void,
) {
  const node = createServer(
    {
      maxHeaderSize: LARGEST_HEAD,
      headersTimeout: times.head,
      requestTimeout: times.request,
      connectionsCheckingInterval: times.check,
      keepAliveTimeout: times.keepAlive,
      // By default, Node would keep connections a second longer than the fast path does.
      keepAliveTimeoutBuffer: 0,
      // `readHead` checks the Host header, so that the error has the same form as all others.
      requireHostHeader: false,
      optimizeEmptyRequests: true,
    },
    onRequest,
  );
  // By default, Node would not answer a client that has ended its side after its requests.
  Object.assign(node, { httpAllowHalfOpen: true });
  // By default, Node would send "100 Continue", but the API refuses every request with a body.
  node.on('checkContinue', onRequest);
  node.on('checkExpectation', onRequest);
  node.on('connect', (_request: IncomingMessage, socket: Socket) => {
    endWith(socket, METHOD_NOT_ALLOWED);
  });
  return node;
}

/** What Node says about a request that it could not read. */
interface ClientError extends NodeJS.ErrnoException {
  readonly rawPacket?: Buffer;
  readonly bytesParsed?: number;
}

/** Answers a request that Node could not read. */
function answerClientError(error: ClientError, socket: Socket, api: ApiHandler): void {
  const { code, rawPacket, bytesParsed = 0 } = error;
  if (code === 'HPE_HEADER_OVERFLOW') endWithError(socket, 431, 'Request header too large');
  else if (code === 'ERR_HTTP_REQUEST_TIMEOUT') endWithError(socket, 408, 'Request timeout');
  else if (code === 'HPE_INVALID_URL') {
    endWithError(socket, 400, 'The request target must be percent-encoded UTF-8');
  } else if (code === 'HPE_INVALID_METHOD' && rawPacket !== undefined) {
    answerUnknownMethod(rawPacket, bytesParsed, socket, api);
  } else endWithError(socket, 400, 'Bad request');
}

function answerUnknownMethod(bytes: Buffer, at: number, socket: Socket, api: ApiHandler): void {
  const request = readUnknownMethod(bytes, at);
  const target = originForm(request?.target ?? '');
  if (request === undefined) endWithError(socket, 400, 'Bad request');
  else if (target === undefined) endWith(socket, BAD_TARGET);
  else if (!UNDER_BASE.test(target)) endWith(socket, METHOD_NOT_ALLOWED);
  else {
    api(
      { ...request, socket, target: target.slice(BASE.length) },
      {
        send: (response, headers) => endWith(socket, response, headers),
        sendPieces: refusePieces,
        destroy: () => socket.destroy(),
      },
    );
  }
}

function endWithError(socket: Socket, status: number, text: string): void {
  endWith(socket, prepareError(status, text));
}

/** Sends a response without one of Node, and closes the connection. */
function endWith(
  socket: Socket,
  { status, headers, body }: PreparedResponse,
  own: HeaderLines = '',
): void {
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${headers}${own}${dateLine()}Connection: close\r\n\r\n`;
  socket.end(Buffer.concat([Buffer.from(head), body]), () => socket.destroy());
  // If the client does not read the responses before this one, this one can never be sent.
  const timer = setTimeout(() => socket.destroy(), LONGEST_DRAIN_MS).unref();
  socket.once('close', () => clearTimeout(timer));
}
