/**
 * The public HTTP server: where a request goes, and how long a client may take. Paths under the
 * base go to the API, all others to the pages; an error that nothing else caught ends here.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { BASE } from './routes.ts';
import { end, errorBody, errorFields } from './send.ts';

/** Request line and header fields together, in bytes. */
const LARGEST_HEAD = 16 * 1024;

export type ApiHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
  queryString: string,
) => void;

/** Answers a path outside the base. */
export type SiteHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
) => void;

export function makeServer(api: ApiHandler, site: SiteHandler, log: Logger): Server {
  const server = createServer(
    {
      maxHeaderSize: LARGEST_HEAD,
      // A client has this long to send a head, and a little more for the rest.
      headersTimeout: 10_000,
      requestTimeout: 15_000,
      connectionsCheckingInterval: 2_000,
      // Longer than nginx keeps an idle upstream connection: the side that speaks first closes first.
      keepAliveTimeout: 65_000,
      // The check of the Host header is the API's own, so that its error has the one shape.
      requireHostHeader: false,
      optimizeEmptyRequests: true,
    },
    handle,
  );

  function handle(request: IncomingMessage, response: ServerResponse): void {
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
        api(request, response, path.slice(BASE.length), queryString);
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
  return server;
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
  let head = `HTTP/1.1 ${status} ${reason}\r\n`;
  for (let i = 0; i < fields.length; i += 2) head += `${fields[i]}: ${fields[i + 1]}\r\n`;
  socket.end(`${head}\r\n${body}`, () => socket.destroy());
}
