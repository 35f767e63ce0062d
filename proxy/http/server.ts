/**
 * The public HTTP server: where a request goes, and how long a client may take. Paths under the
 * base go to the API, all others to the pages; an error that nothing else caught ends here.
 */
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import {
  type HttpSocket,
  isResponding,
  makeConnections,
  newConnectionCells,
} from '../../program/connections.ts';
import { makePlainConnections } from './fast-path/fast-path.ts';
import { LONGEST_DRAIN_MS, toResponder } from './node-response.ts';
import { readHead } from './request-head.ts';
import type { ApiHandler, Responder } from './responder.ts';
import { BASE, splitTarget } from './routes.ts';
import { errorBody, errorFields, sendSiteError } from './send.ts';

/** Request line and header fields together, in bytes. */
const LARGEST_HEAD = 16 * 1024;
const UNDER_BASE = new RegExp(`^${BASE}(?=[/?]|$)`);

/** Answers a path outside the base. */
export type SiteHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
) => void;

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

export interface ApiServer {
  /** To listen with and to close; its connections are closed with the functions here. */
  readonly server: Server;
  /** From now on each response tells its client that it is the last on its connection. */
  announceEnd(): void;
  closeIdleConnections(): void;
  closeAllConnections(): void;
}

/** @param cells how many connections the server may have, and has */
export function makeServer(
  api: ApiHandler,
  site: SiteHandler,
  log: Logger,
  times: ClientTimes = CLIENT_TIMES,
  cells = newConnectionCells(),
): ApiServer {
  let isEnding = false;
  const server = createServer(
    {
      maxHeaderSize: LARGEST_HEAD,
      headersTimeout: times.head,
      requestTimeout: times.request,
      connectionsCheckingInterval: times.check,
      keepAliveTimeout: times.keepAlive,
      // Node would keep its connections a second longer than the others.
      keepAliveTimeoutBuffer: 0,
      // The check of the Host header is the API's own, so that its error has the one shape.
      requireHostHeader: false,
      optimizeEmptyRequests: true,
    },
    handle,
  );

  function handle(request: IncomingMessage, response: ServerResponse): void {
    connections.noteUse(request.socket);
    // A kept-alive connection would hold the end up.
    if (isEnding) response.shouldKeepAlive = false;
    const responder = toResponder(response);
    try {
      const target = originForm(request.url ?? '');
      if (target === undefined) {
        sendSiteError(responder, 400, 'The request target must be a path', '', true);
      } else if (UNDER_BASE.test(target)) {
        const { method = '', socket } = request;
        const head = readHead(request);
        api({ method, socket, head, target: target.slice(BASE.length) }, responder);
      } else {
        // Without a host that the client chose, whoever reads it later.
        request.url = target;
        const [path] = splitTarget(target);
        site(request, response, path);
      }
    } catch (error) {
      fail(error, responder);
    }
  }

  function fail(error: unknown, response: Responder): void {
    log.error({ err: error }, 'a request failed');
    if (response.isSent()) response.destroy();
    else sendSiteError(response, 500, 'Internal error', '', true);
  }

  // Connections are the plain requests' first. Node's own listener has them from where those end.
  const [takeOver] = server.listeners('connection') as ((socket: Socket) => void)[];
  if (takeOver === undefined) throw new Error('This Node has no listener for connections.');
  server.removeAllListeners('connection');
  const plain = makePlainConnections({
    api,
    handOver: (socket) => takeOver.call(server, socket),
    onError: fail,
    onSilence: (socket) => endRaw(socket, 408, 'Request timeout'),
    firstByteMs: times.head,
    keepAliveMs: times.keepAlive,
    longestDrainMs: LONGEST_DRAIN_MS,
  });
  const connections = makeConnections(
    cells,
    (socket) =>
      // Bytes of a response that has ended only wait for the client to read them.
      plain.isAnswering(socket) || isResponding(socket),
    () => performance.now(),
  );
  server.on('connection', (socket) => {
    const noteUse = connections.take(socket);
    if (noteUse !== undefined) plain.take(socket, noteUse);
  });
  // The limit can fall while no connection comes.
  const trimming = setInterval(connections.trim, TRIM_MS).unref();
  server.once('close', () => clearInterval(trimming));

  // Node would send "100 Continue" first, though a request with a body is always refused.
  server.on('checkContinue', handle);
  server.on('checkExpectation', handle);
  server.on('connect', (_request: IncomingMessage, socket: Socket) => {
    endRaw(socket, 405, 'Method not allowed');
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const { _httpMessage: message } = socket as HttpSocket;
    if (!socket.writable || message?.headersSent === true) socket.destroy();
    else if (error.code === 'HPE_HEADER_OVERFLOW') {
      endRaw(socket, 431, 'Request header too large');
    } else if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') {
      endRaw(socket, 408, 'Request timeout');
    } else endRaw(socket, 400, 'Bad request');
  });
  return {
    server,
    announceEnd() {
      isEnding = true;
      plain.announceEnd();
    },
    closeIdleConnections() {
      server.closeIdleConnections();
      plain.closeIdle();
    },
    closeAllConnections() {
      server.closeAllConnections();
      plain.closeAll();
    },
  };
}

/**
 * The path and query of a request target. The absolute form, which RFC 9112 section 3.2.2 asks
 * servers to take, loses its scheme and host: they say nothing here.
 */
function originForm(target: string): string | undefined {
  if (target.startsWith('/')) return target;
  const [authority] = /^https?:\/\/[^/?#]*/i.exec(target) ?? [];
  if (authority === undefined) return undefined;
  const rest = target.slice(authority.length);
  return rest.startsWith('/') ? rest : `/${rest}`;
}

function endRaw(socket: Socket, status: number, text: string): void {
  const body = errorBody(text);
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${errorFields(body)}Connection: close\r\n\r\n`;
  socket.end(head + body, 'latin1', () => socket.destroy());
  // Behind answers that the client does not take this one is never sent.
  const timer = setTimeout(() => socket.destroy(), LONGEST_DRAIN_MS);
  timer.unref();
  socket.once('close', () => clearTimeout(timer));
}
