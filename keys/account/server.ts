/**
 * The HTTP server of the pages: how long a client may take and how much it may send, the fixed files,
 * and the edge where every error ends. What an answer holds is `application.ts`'s.
 */
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import {
  type HttpSocket,
  isResponding,
  makeConnections,
  newConnectionCells,
} from '../../program/connections.ts';
import type { Application } from './application.ts';
import { RefusedBody } from './form-body.ts';
import { textOf } from './html.ts';
import { messagePage } from './pages/message-page.ts';
import { SiteKeysUnreachable } from './remote-keys.ts';
import { page, type Reply } from './route.ts';

/** Request line and header fields together, in bytes. */
const LARGEST_HEAD = 16 * 1024;
/** How often it is checked whether there are more connections than there may be. */
const TRIM_MS = 1_000;
/** A body that no client has taken after this is given up. */
const LONGEST_DRAIN_MS = 30_000;

/** Nothing inline, nothing from elsewhere, forms to this site alone, and no site may frame it. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
const FIXED_FIELDS = [
  ...['Content-Security-Policy', POLICY],
  ...['X-Content-Type-Options', 'nosniff'],
  ...['X-Frame-Options', 'DENY'],
  ...['Cross-Origin-Opener-Policy', 'same-origin'],
  ...['Cross-Origin-Resource-Policy', 'same-origin'],
  // Addresses of links hold tokens, which no other site may learn. "no-referrer" would take the
  // Origin field from forms.
  ...['Referrer-Policy', 'same-origin'],
];
const FILES: readonly (readonly [path: string, name: string, type: string])[] = [
  ['/account/account.css', 'account.css', 'text/css; charset=utf-8'],
  ['/account/copy.js', 'copy.js', 'text/javascript; charset=utf-8'],
  ['/account/icon.svg', 'icon.svg', 'image/svg+xml'],
];

/** @param cells how many connections the server may have, and has */
export function makeAccountServer(
  answer: Application,
  log: Logger,
  cells = newConnectionCells(),
): Server {
  const files = new Map(
    FILES.map(([path, name, type]) => {
      const bytes = readFileSync(new URL(`./files/${name}`, import.meta.url));
      return [path, { type, bytes }];
    }),
  );
  const server = createServer(
    {
      maxHeaderSize: LARGEST_HEAD,
      headersTimeout: 10_000,
      requestTimeout: 15_000,
      connectionsCheckingInterval: 2_000,
      keepAliveTimeout: 65_000,
      optimizeEmptyRequests: true,
    },
    handle,
  );

  const connections = makeConnections(cells, isAnswering, () => performance.now());
  // Connections that are not used, or that never finish a request, make room for others.
  server.on('connection', (socket) => connections.take(socket));
  // The limit can fall while no connection comes.
  const trimming = setInterval(connections.trim, TRIM_MS).unref();
  server.once('close', () => clearInterval(trimming));

  function handle(request: IncomingMessage, response: ServerResponse): void {
    connections.noteUse(request.socket);
    const target = request.url ?? '';
    const path = target.split('?', 1)[0];
    const file = files.get(path);
    if (file !== undefined && (request.method === 'GET' || request.method === 'HEAD')) {
      send(request, response, 200, file.type, file.bytes, ['Cache-Control', 'no-cache']);
      return;
    }
    answer(request, path, new URLSearchParams(target.slice(path.length + 1)))
      .catch((error) => replyOfError(error, request.method, path))
      .then((reply) => sendReply(request, response, reply))
      .catch((error) => {
        log.error({ err: error }, 'an answer could not be sent');
        response.destroy();
      });
  }

  function replyOfError(error: Error, method: string | undefined, path: string): Reply {
    const nobody = { account: undefined, token: '', hasSession: false };
    if (error instanceof RefusedBody) {
      return page(error.status, messagePage(nobody, 'Refused', error.message));
    }
    if (error instanceof SiteKeysUnreachable) {
      const text =
        'Whether you are signed in cannot be checked at the moment. Try again in a minute.';
      return page(503, messagePage(nobody, 'Not available', text));
    }
    // Never the target or the form: they may hold links, tokens and what people wrote.
    log.error({ err: error, method, path }, 'a request failed');
    const text = 'Something went wrong here, not with you. Try again in a while.';
    return page(500, messagePage(nobody, 'Error', text));
  }

  function sendReply(request: IncomingMessage, response: ServerResponse, reply: Reply): void {
    const fields = ['Cache-Control', 'no-store'];
    for (const cookie of reply.cookies) fields.push('Set-Cookie', cookie);
    if (reply.location !== undefined) fields.push('Location', reply.location);
    if (reply.allow !== undefined) fields.push('Allow', reply.allow);
    const body = reply.page === undefined ? '' : textOf(reply.page);
    send(request, response, reply.status, 'text/html; charset=utf-8', Buffer.from(body), fields);
  }

  function send(
    request: IncomingMessage,
    response: ServerResponse,
    status: number,
    type: string,
    body: Buffer,
    extra: readonly string[],
  ): void {
    // What was not read of a request must not be taken for the next one.
    const isRead = request.complete || hasNoBody(request);
    response.writeHead(status, [
      ...['Content-Type', type, 'Content-Length', String(body.length)],
      ...FIXED_FIELDS,
      ...extra,
      ...(isRead ? [] : ['Connection', 'close']),
    ]);
    response.end(body);
    const { socket } = response;
    if (socket === null || socket.writableLength === 0) return;
    const timer = setTimeout(() => socket.destroy(), LONGEST_DRAIN_MS);
    timer.unref();
    response.once('close', () => clearTimeout(timer));
  }

  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const { _httpMessage: message } = socket as HttpSocket;
    if (!socket.writable || message?.headersSent === true) socket.destroy();
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

/** A client that is slow to send its form is not being answered yet. */
function isAnswering(socket: HttpSocket): boolean {
  return isResponding(socket) && socket._httpMessage?.req.complete === true;
}

function hasNoBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] === undefined && (headers['content-length'] ?? '0') === '0';
}

function endRaw(socket: Socket, status: string): void {
  const head = `HTTP/1.1 ${status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`;
  socket.end(head, () => socket.destroy());
}
