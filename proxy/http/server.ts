/**
 * The public HTTP server. The fast path reads a connection first, Node's HTTP server from the first
 * unusual byte on, or all of it where the fast path is off. Both answer with the same bytes.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { isResponding, makeConnections, newConnectionCells } from '../../program/connections.ts';
import { answerFailure, dispatch, type SiteHandler } from './dispatch.ts';
import { makeFastPath } from './fast-path/fast-path.ts';
import type { ApiHandler } from './message/responder.ts';
import { LONGEST_DRAIN_MS, toResponder } from './node-response.ts';
import { answerClientError, endWithError } from './raw-error.ts';

/** Request line and header fields together, in bytes. */
const LARGEST_HEAD = 16 * 1024;

/** How long a client may take, in milliseconds. */
export interface ClientTimes {
  /** For a head, or for a first byte. */
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
  // Longer than nginx keeps an idle upstream connection: the side that speaks first closes first.
  keepAlive: 65_000,
};

/** How often a thread checks whether it has more connections than it may have. */
const TRIM_MS = 1_000;

export interface ServerOptions {
  readonly times?: ClientTimes;
  /** How many connections the server may have, and has. */
  readonly connections?: Float64Array;
  /** Without it Node's HTTP server reads every request. */
  readonly hasFastPath?: boolean;
}

export interface ApiServer {
  /** To listen with and to close; its connections are closed with the functions here. */
  readonly server: Server;
  /** From now on each response tells its client that it is the last on its connection. */
  announceEnd(): void;
  closeIdleConnections(): void;
  closeAllConnections(): void;
}

export function makeServer(
  api: ApiHandler,
  site: SiteHandler,
  log: Logger,
  options: ServerOptions = {},
): ApiServer {
  const { times = CLIENT_TIMES, hasFastPath = true } = options;
  let isEnding = false;
  const server = makeNodeServer(times, onRequest);
  const toNode = takeConnectionListener(server);
  const fastPath = hasFastPath
    ? makeFastPath({
        api,
        handOver: toNode,
        onError: (error, response) => answerFailure(error, response, log),
        onSilence: (socket) => endWithError(socket, 408, 'Request timeout'),
        firstByteMs: times.head,
        keepAliveMs: times.keepAlive,
        longestDrainMs: LONGEST_DRAIN_MS,
      })
    : undefined;
  const connections = makeConnections(
    options.connections ?? newConnectionCells(),
    // Bytes of a response that has ended only wait for the client to read them.
    (socket) => fastPath?.isAnswering(socket) === true || isResponding(socket),
    () => performance.now(),
  );
  server.on('connection', (socket) => {
    const noteUse = connections.take(socket);
    if (noteUse === undefined) return;
    if (fastPath === undefined) toNode(socket);
    else fastPath.take(socket, noteUse);
  });
  // The limit can fall while no connection comes.
  const trimming = setInterval(connections.trim, TRIM_MS).unref();
  server.once('close', () => clearInterval(trimming));

  function onRequest(request: IncomingMessage, response: ServerResponse): void {
    connections.noteUse(request.socket);
    // A kept-alive connection would hold the end up.
    if (isEnding) response.shouldKeepAlive = false;
    try {
      dispatch(request, response, api, site);
    } catch (error) {
      answerFailure(error, toResponder(response), log);
    }
  }

  return {
    server,
    announceEnd() {
      isEnding = true;
      fastPath?.announceEnd();
    },
    closeIdleConnections() {
      server.closeIdleConnections();
      fastPath?.closeIdle();
    },
    closeAllConnections() {
      server.closeAllConnections();
      fastPath?.closeAll();
    },
  };
}

function makeNodeServer(
  times: ClientTimes,
  onRequest: (request: IncomingMessage, response: ServerResponse) => void,
): Server {
  const server = createServer(
    {
      maxHeaderSize: LARGEST_HEAD,
      headersTimeout: times.head,
      requestTimeout: times.request,
      connectionsCheckingInterval: times.check,
      keepAliveTimeout: times.keepAlive,
      // Node would keep its connections a second longer than the fast path does.
      keepAliveTimeoutBuffer: 0,
      // The check of the Host header is the API's own, so that its error has the one shape.
      requireHostHeader: false,
      optimizeEmptyRequests: true,
    },
    onRequest,
  );
  // Node would send "100 Continue" first, though a request with a body is always refused.
  server.on('checkContinue', onRequest);
  server.on('checkExpectation', onRequest);
  server.on('connect', (_request: IncomingMessage, socket: Socket) => {
    endWithError(socket, 405, 'Method not allowed');
  });
  server.on('clientError', answerClientError);
  return server;
}

/** Removes Node's own listener for new connections. @returns what calls it */
function takeConnectionListener(server: Server): (socket: Socket) => void {
  const [listener] = server.listeners('connection');
  if (listener === undefined) throw new Error('This Node has no listener for connections.');
  server.removeAllListeners('connection');
  return (socket) => listener.call(server, socket);
}
