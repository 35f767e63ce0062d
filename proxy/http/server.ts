/**
 * The public HTTP server. The fast path reads each connection first. At the first unusual request it
 * hands the connection over to Node's HTTP server. Both send the same responses.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { makeConnections, newConnectionCells } from '../../program/connections.ts';
import { answerFailure, dispatch, type SiteHandler } from './dispatch.ts';
import { makeFastPath } from './fast-path/fast-path.ts';
import type { ApiHandler } from './message/responder.ts';
import { LONGEST_DRAIN_MS, toResponder } from './node-response.ts';
import { answerClientError, endWithError } from './raw-error.ts';

/** The most bytes that the request line and the header fields may have together. */
const LARGEST_HEAD = 16 * 1024;

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

export interface ApiServer {
  /** Call its `listen` and `close`, but close its connections with the functions below. */
  readonly server: Server;
  /** From now on, each response tells its client that the connection will be closed after it. */
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
  const { times = CLIENT_TIMES } = options;
  let isEnding = false;
  const server = makeNodeServer(times, onRequest);
  const fastPath = makeFastPath({
    api,
    handOver: takeConnectionListener(server),
    onError: (error, response) => answerFailure(error, response, log),
    onSilence: (socket) => endWithError(socket, 408, 'Request timeout'),
    firstByteMs: times.head,
    keepAliveMs: times.keepAlive,
    longestDrainMs: LONGEST_DRAIN_MS,
  });
  const connections = makeConnections(
    options.connections ?? newConnectionCells(),
    log,
    fastPath.isAnswering,
  );
  server.on('connection', (socket) => {
    const noteUse = connections.take(socket);
    if (noteUse !== undefined) fastPath.take(socket, noteUse);
  });

  function onRequest(request: IncomingMessage, response: ServerResponse): void {
    connections.noteUse(request.socket, response);
    // A connection that is kept alive would delay the stop. After an Upgrade request, whatever forwards
    // the connection may take the rest of it for another protocol, so it carries no further request.
    if (isEnding || request.headers.upgrade !== undefined) response.shouldKeepAlive = false;
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
      fastPath.announceEnd();
    },
    closeIdleConnections() {
      server.closeIdleConnections();
      fastPath.closeIdle();
    },
    closeAllConnections() {
      server.closeAllConnections();
      fastPath.closeAll();
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
      // By default, Node would keep connections a second longer than the fast path does.
      keepAliveTimeoutBuffer: 0,
      // `readHead` checks the Host header, so that the error has the same form as all others.
      requireHostHeader: false,
      optimizeEmptyRequests: true,
    },
    onRequest,
  );
  // By default, Node would send "100 Continue", but the API refuses every request with a body.
  server.on('checkContinue', onRequest);
  server.on('checkExpectation', onRequest);
  server.on('connect', (_request: IncomingMessage, socket: Socket) => {
    endWithError(socket, 405, 'Method not allowed');
  });
  server.on('clientError', answerClientError);
  return server;
}

/** Removes the listener of Node's HTTP server for new connections. @returns a function that calls it */
function takeConnectionListener(server: Server): (socket: Socket) => void {
  const [listener] = server.listeners('connection');
  if (listener === undefined) {
    throw new Error(`The HTTP server of Node ${process.version} has no listener for connections.`);
  }
  server.removeAllListeners('connection');
  return (socket) => listener.call(server, socket);
}
