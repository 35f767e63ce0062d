/**
 * The HTTP server of the pages: it limits connections, enforces time limits for clients, and answers
 * invalid HTTP. `app.ts` answers valid requests.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import type { Logger } from 'pino';
import { makeConnections } from '../../program/connections.ts';
import type { App } from './routes/site.ts';

/** The request line and the header fields together, in bytes. */
const LARGEST_HEAD = 16 * 1024;
/** Node stores the response under way in `_httpMessage`. */
type HttpSocket = Socket & { _httpMessage?: ServerResponse | null };

/** @param cells the limit on connections and their counts, from `newConnectionCells` */
export function makeAccountServer(app: App, cells: Float64Array, log: Logger): Server {
  const server = createServer({
    maxHeaderSize: LARGEST_HEAD,
    headersTimeout: 10_000,
    requestTimeout: 15_000,
    connectionsCheckingInterval: 2_000,
    keepAliveTimeout: 65_000,
  });
  // Connections that are idle, or whose request is unfinished, are closed to make room for new ones.
  const connections = makeConnections(cells, log);
  server.on('connection', connections.take);
  server.on('request', (request, response) => connections.noteUse(request.socket, response));
  // The host name for requests without a Host field, which HTTP/1.0 allows.
  server.on('request', getRequestListener(app.fetch, { hostname: 'localhost' }));
  server.on('clientError', (error: NodeJS.ErrnoException, socket: HttpSocket) => {
    if (!socket.writable || socket._httpMessage?.headersSent === true) socket.destroy();
    else if (error.code === 'HPE_HEADER_OVERFLOW') {
      endRaw(socket, '431 Request Header Fields Too Large');
    } else if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') endRaw(socket, '408 Request Timeout');
    else endRaw(socket, '400 Bad Request');
  });
  server.on('connect', (_request: IncomingMessage, socket: Socket) => {
    endRaw(socket, '405 Method Not Allowed');
  });
  return server;
}

function endRaw(socket: Socket, status: string): void {
  const head = `HTTP/1.1 ${status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`;
  socket.end(head, () => socket.destroy());
}
