/**
 * The public HTTP server: where a request goes, and how long a client may take. Paths under the
 * base go to the API, all others to the pages; an error that nothing else caught ends here.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { end, LONGEST_DRAIN_MS, toResponder } from './node-response.ts';
import { makePlainConnections } from './plain-requests.ts';
import { readHead } from './request-head.ts';
import type { ApiHandler } from './responder.ts';
import { BASE } from './routes.ts';
import { errorBody, errorFields } from './send.ts';

/** Request line and header fields together, in bytes. */
const LARGEST_HEAD = 16 * 1024;

/** Answers a path outside the base. */
export type SiteHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
) => void;

/** A client has this long to send a head, and a little more for the rest. */
const HEAD_MS = 10_000;
const REQUEST_MS = 15_000;
/** Longer than nginx keeps an idle upstream connection: the side that speaks first closes first. */
const KEEP_ALIVE_MS = 65_000;

export interface ApiServer {
  /** To listen with and to close; its connections are closed with the functions here. */
  readonly server: Server;
  /** From now on each response tells its client that it is the last on its connection. */
  announceEnd(): void;
  closeIdleConnections(): void;
  closeAllConnections(): void;
}

export function makeServer(api: ApiHandler, site: SiteHandler, log: Logger): ApiServer {
  let isEnding = false;
  const server = createServer(
    {
      maxHeaderSize: LARGEST_HEAD,
      headersTimeout: HEAD_MS,
      requestTimeout: REQUEST_MS,
      connectionsCheckingInterval: 2_000,
      keepAliveTimeout: KEEP_ALIVE_MS,
      // The check of the Host header is the API's own, so that its error has the one shape.
      requireHostHeader: false,
      optimizeEmptyRequests: true,
    },
    handle,
  );

  function handle(request: IncomingMessage, response: ServerResponse): void {
    // A kept-alive connection would hold the end up.
    if (isEnding) response.shouldKeepAlive = false;
    try {
      const target = originForm(request.url ?? '');
      if (target === undefined) {
        refuse(response, 400, 'The request target must be a path');
        return;
      }
      const question = target.indexOf('?');
      const path = question < 0 ? target : target.slice(0, question);
      const queryString = question < 0 ? '' : target.slice(question + 1);
      if (path.startsWith(BASE) && (path.length === BASE.length || path[BASE.length] === '/')) {
        const { method = '', socket } = request;
        const head = readHead(request);
        api({ method, socket, head }, toResponder(response), path.slice(BASE.length), queryString);
      } else {
        // Without a host that the client chose, whoever reads it later.
        request.url = target;
        site(request, response, path);
      }
    } catch (error) {
      log.error({ err: error }, 'a request failed');
      if (response.headersSent) response.destroy();
      else refuse(response, 500, 'Internal error');
    }
  }

  // Connections are the plain requests' first. Node's own listener has them from where those end.
  const [takeOver] = server.listeners('connection') as ((socket: Socket) => void)[];
  if (takeOver === undefined) throw new Error('This Node has no listener for connections.');
  server.removeAllListeners('connection');
  const plain = makePlainConnections({
    api,
    handOver: (socket) => takeOver.call(server, socket),
    onError(error, response) {
      log.error({ err: error }, 'a request failed');
      if (response.isSent()) response.destroy();
      else {
        const body = errorBody('Internal error');
        response.send(500, toLines(errorFields(body)), body, true);
      }
    },
    onSilence: (socket) => endRaw(socket, 408, 'Request Timeout', 'Request timeout'),
    firstByteMs: HEAD_MS,
    keepAliveMs: KEEP_ALIVE_MS,
    longestDrainMs: LONGEST_DRAIN_MS,
  });
  server.on('connection', plain.take);

  // Node would send "100 Continue" first, though a request with a body is always refused.
  server.on('checkContinue', handle);
  server.on('checkExpectation', handle);
  server.on('connect', (_request: IncomingMessage, socket: Socket) => {
    endRaw(socket, 405, 'Method Not Allowed', 'Method not allowed');
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const { _httpMessage: message } = socket as Socket & { _httpMessage?: ServerResponse };
    if (!socket.writable || message?.headersSent === true) socket.destroy();
    else if (error.code === 'HPE_HEADER_OVERFLOW') {
      endRaw(socket, 431, 'Request Header Fields Too Large', 'Request header too large');
    } else if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') {
      endRaw(socket, 408, 'Request Timeout', 'Request timeout');
    } else endRaw(socket, 400, 'Bad Request', 'Bad request');
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

/** Sends an error outside the base and closes the connection. */
function refuse(response: ServerResponse, status: number, text: string): void {
  const body = errorBody(text);
  response.writeHead(status, [...errorFields(body), 'Connection', 'close']);
  end(response, body, 'utf8');
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

function endRaw(socket: Socket, status: number, reason: string, text: string): void {
  const body = errorBody(text);
  const fields = [...errorFields(body), 'Connection', 'close'];
  const head = `HTTP/1.1 ${status} ${reason}\r\n${toLines(fields)}`;
  socket.end(`${head}\r\n${body}`, () => socket.destroy());
  // Behind answers that the client does not take this one is never sent.
  const timer = setTimeout(() => socket.destroy(), LONGEST_DRAIN_MS);
  timer.unref();
  socket.once('close', () => clearTimeout(timer));
}

function toLines(fields: readonly string[]): string {
  let lines = '';
  for (let i = 0; i < fields.length; i += 2) lines += `${fields[i]}: ${fields[i + 1]}\r\n`;
  return lines;
}
