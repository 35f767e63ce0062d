/**
 * The public HTTP server. The fast path reads each connection first. At the first unusual request it
 * hands the connection over to Node's HTTP server. Both send the same responses. A request whose path is
 * under the base goes to the API, every other one to the site.
 */
import {
  createServer,
  type IncomingMessage,
  type Server as NodeServer,
  type ServerResponse,
} from 'node:http';
import { createServer as createNetServer, type Server as NetServer, type Socket } from 'node:net';
import type { Logger } from 'pino';
import {
  CLIENT_LIMITS,
  type Connections,
  makeConnections,
  newConnectionCells,
} from '../../lib/program/connections.ts';
import { FastPath, refusePieces } from './fast-path.ts';
import { LONGEST_DRAIN_MS, toResponder } from './node-response.ts';
import { BASE, readHead, splitTarget } from './request.ts';
import {
  type ApiHandler,
  type HeaderLines,
  INTERNAL_ERROR,
  type PreparedResponse,
  prepareError,
} from './response.ts';
import { readUnknownMethod, type UnknownMethodRequest } from './unknown-method.ts';

const BAD_TARGET = { ...prepareError(400, 'The request target must be a path'), isLast: true };
const METHOD_NOT_ALLOWED = prepareError(405, 'Method not allowed', 'Allow: GET, HEAD\r\n');
const UNDER_BASE = new RegExp(`^${BASE}(?=[/?]|$)`);

/** Answers a path outside the base. */
export type SiteHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
) => void;

interface ServerOptions {
  readonly limits?: typeof CLIENT_LIMITS;
  /** The limit and counts of the server's connections, from `newConnectionCells`. */
  readonly connections?: Float64Array;
}

/** The public server of one thread. Call `listen` of its `server`, but close it with the functions here. */
export class HttpServer {
  readonly server: NetServer;
  private readonly api: ApiHandler;
  private readonly site: SiteHandler;
  private readonly log: Logger;
  private readonly connections: Connections;
  private readonly node: NodeServer;
  private readonly fastPath: FastPath;
  /** Connections whose last request Node could not read. What follows it does not matter. */
  private readonly refused = new WeakSet<Socket>();

  constructor(api: ApiHandler, site: SiteHandler, log: Logger, options: ServerOptions = {}) {
    const { limits = CLIENT_LIMITS, connections: cells = newConnectionCells() } = options;
    this.api = api;
    this.site = site;
    this.log = log;
    this.connections = makeConnections(cells, log);
    this.node = this.makeNodeServer(limits);
    this.fastPath = new FastPath({
      api,
      connections: this.connections,
      // The documented way to inject a connection.
      handOver: (socket) => this.node.emit('connection', socket),
      onSilence: (socket) => this.endWith(socket, prepareError(408, 'Request timeout')),
      firstByteMs: limits.headersTimeout,
      keepAliveMs: limits.keepAliveTimeout,
    });
    // As Node's HTTP server opens its own connections.
    this.server = createNetServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
      if (this.connections.take(socket)) this.fastPath.take(socket);
    });
    // From then on, Node looks for requests that take too long.
    this.server.on('listening', () => this.node.emit('listening'));
  }

  /** From now on, each response tells its client that the connection will be closed after it. */
  announceEnd(): void {
    this.fastPath.isEnding = true;
  }

  /** Stops listening. @param onClosed called when all connections are closed */
  close(onClosed: () => void): void {
    this.server.close(onClosed);
    // It never listened. This ends its timer.
    this.node.close(() => {});
  }

  closeIdleConnections(): void {
    this.node.closeIdleConnections();
    this.fastPath.closeIdle();
  }

  closeAllConnections(): void {
    this.node.closeAllConnections();
    this.fastPath.closeAll();
  }

  private makeNodeServer(limits: typeof CLIENT_LIMITS): NodeServer {
    const node = createServer({
      ...limits,
      // By default, Node would keep connections a second longer than the fast path does.
      keepAliveTimeoutBuffer: 0,
      // `readHead` checks the Host header, so that the error has the same form as all others.
      requireHostHeader: false,
      optimizeEmptyRequests: true,
    });
    // By default, Node would not answer a client that has ended its side after its requests.
    Object.assign(node, { httpAllowHalfOpen: true });
    // By default, Node would send "100 Continue", but the API refuses every request with a body.
    for (const event of ['request', 'checkContinue', 'checkExpectation']) {
      node.on(event, (request, response) => this.answerInTurn(request, response));
    }
    // The target of CONNECT is never a path.
    node.on('connect', (request: IncomingMessage, socket: Socket) =>
      this.answerAlone(socket, { method: 'CONNECT', head: readHead(request), target: BASE }),
    );
    node.on('clientError', (error: ClientError, socket: Socket) => {
      if (this.refused.has(socket)) return;
      this.refused.add(socket);
      // The responses to the requests before it come first.
      const last = this.connections.responseOf(socket);
      afterResponse(last, socket, () => {
        // Otherwise, Node closes the connection after that response.
        if (last?.shouldKeepAlive === false) return;
        if (socket.writable) this.answerClientError(error, socket);
        else socket.destroy();
      });
    });
    return node;
  }

  /** Node reads all requests that a client sends at once, but each is answered after the one before. */
  private answerInTurn(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    const last = this.connections.useFor(response);
    const hasToWait = last !== undefined && !last.writableFinished;
    // Without this, any number of requests could wait in memory.
    if (hasToWait) socket.pause();
    afterResponse(last, socket, () => {
      if (hasToWait && this.connections.responseOf(socket) === response) socket.resume();
      if (!socket.destroyed) this.answer(request, response);
    });
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    // A connection that is kept alive would delay the stop. After an Upgrade request, whatever forwards
    // the connection may take the rest of it for another protocol, so it carries no further request.
    if (this.fastPath.isEnding || request.headers.upgrade !== undefined) {
      response.shouldKeepAlive = false;
    }
    try {
      this.dispatch(request, response);
    } catch (error) {
      this.log.error({ err: error }, 'a request failed');
      if (response.headersSent) response.destroy();
      else toResponder(response).send(INTERNAL_ERROR);
    }
  }

  private dispatch(request: IncomingMessage, response: ServerResponse): void {
    const target = originForm(request.url ?? '');
    if (target === undefined) {
      toResponder(response).send(BAD_TARGET);
    } else if (UNDER_BASE.test(target)) {
      const { method = '', socket } = request;
      const head = readHead(request);
      this.api({ method, socket, head, target: target.slice(BASE.length) }, toResponder(response));
    } else {
      // Later readers of `request.url` must not see the host that the client chose.
      request.url = target;
      const [path] = splitTarget(target);
      this.site(request, response, path);
    }
  }

  /** Answers a request that Node could not read. */
  private answerClientError(error: ClientError, socket: Socket): void {
    const { code, rawPacket, bytesParsed = 0 } = error;
    const unknown =
      code === 'HPE_INVALID_METHOD' && rawPacket && readUnknownMethod(rawPacket, bytesParsed);
    const [status, text] = CLIENT_ERRORS[code ?? ''] ?? [400, 'Bad request'];
    if (unknown) this.answerAlone(socket, unknown);
    else this.endWith(socket, prepareError(status, text));
  }

  /** Answers a request for which Node made no response object. The connection ends with it. */
  private answerAlone(socket: Socket, request: UnknownMethodRequest): void {
    const target = originForm(request.target);
    if (target === undefined) this.endWith(socket, BAD_TARGET);
    else if (!UNDER_BASE.test(target)) this.endWith(socket, METHOD_NOT_ALLOWED);
    else {
      this.api(
        { ...request, socket, target: target.slice(BASE.length) },
        {
          send: (response, headers) => this.endWith(socket, response, headers),
          sendPieces: refusePieces,
          destroy: () => socket.destroy(),
        },
      );
    }
  }

  /** Sends a response without one of Node, and closes the connection. */
  private endWith(socket: Socket, response: PreparedResponse, own: HeaderLines = ''): void {
    this.fastPath.writer.write(socket, response, own, 'Connection: close\r\n');
    socket.end(() => socket.destroy());
    // If the client does not read the responses before this one, this one can never be sent.
    const timer = setTimeout(() => socket.destroy(), LONGEST_DRAIN_MS).unref();
    socket.once('close', () => clearTimeout(timer));
  }
}

/**
 * Calls a function once a response on a connection is handed to the socket, or at once if there is none to
 * wait for. Before Node's own listener: if the client has ended its side, that ends the connection.
 */
function afterResponse(
  response: ServerResponse | undefined,
  socket: Socket,
  next: () => void,
): void {
  if (response === undefined || response.writableFinished || !socket.writable) next();
  else response.prependOnceListener('finish', next);
}

/** What Node says about a request that it could not read. */
interface ClientError extends NodeJS.ErrnoException {
  readonly rawPacket?: Buffer;
  readonly bytesParsed?: number;
}

const CLIENT_ERRORS: Readonly<Record<string, [status: number, text: string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'Request header too large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request timeout'],
  HPE_INVALID_URL: [400, 'The request target must be percent-encoded UTF-8'],
};

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
