/**
 * The HTTP server of the pages: how long a client may take, how much it may send before a request is
 * understood, and what is answered to what is not HTTP. `app.ts` answers the requests.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import type { App } from './routes/site.ts';

/** Request line and header fields together, in bytes. */
const LARGEST_HEAD = 16 * 1024;

export function makeAccountServer(app: App): Server {
  const server = createServer({
    maxHeaderSize: LARGEST_HEAD,
    headersTimeout: 10_000,
    requestTimeout: 15_000,
    connectionsCheckingInterval: 2_000,
    keepAliveTimeout: 65_000,
  });
  const responses = new WeakMap<Socket, ServerResponse>();
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    responses.set(request.socket, response);
  });
  // Only HTTP/1.0 has no Host; its requests are answered as well.
  server.on('request', getRequestListener(app.fetch, { hostname: 'localhost' }));
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const response = responses.get(socket);
    const isAnswered = response?.headersSent === true && !response.writableFinished;
    if (!socket.writable || isAnswered) socket.destroy();
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
