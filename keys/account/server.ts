/**
 * The HTTP server of the pages: it limits connections and enforces time limits for clients. `app.ts`
 * answers the requests; Node answers invalid HTTP.
 */
import { createServer, type Server } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { type HttpSocket, isResponding, makeConnections } from '../../program/connections.ts';
import type { App } from './routes/replies.ts';

/** The request line and the header fields together, in bytes. */
const LARGEST_HEAD = 16 * 1024;
/** How long a client may neither send nor read anything. */
const LONGEST_SILENCE_MS = 30_000;
/** How often to close idle connections above the limit. */
const TRIM_MS = 1_000;

/** @param cells the limit on connections and their counts, from `newConnectionCells` */
export function makeAccountServer(app: App, cells: Float64Array): Server {
  const server = createServer({
    maxHeaderSize: LARGEST_HEAD,
    headersTimeout: 10_000,
    requestTimeout: 15_000,
    connectionsCheckingInterval: 2_000,
    keepAliveTimeout: 65_000,
  });
  server.setTimeout(LONGEST_SILENCE_MS);
  limitConnections(server, cells);
  // The host name for requests without a Host field, which HTTP/1.0 allows.
  server.on('request', getRequestListener(app.fetch, { hostname: 'localhost' }));
  return server;
}

/** Closes connections that are idle, or whose request is unfinished, to make room for new ones. */
function limitConnections(server: Server, cells: Float64Array): void {
  const connections = makeConnections(cells, isAnswering, () => performance.now());
  server.on('connection', (socket) => connections.take(socket));
  server.on('request', ({ socket }) => connections.noteUse(socket));
  // Needed because the limit can fall while no new connection arrives.
  const trimming = setInterval(connections.trim, TRIM_MS).unref();
  server.once('close', () => clearInterval(trimming));
}

/**
 * Whether the server is answering a complete request. While a client is still sending its form, its
 * connection counts as idle.
 */
function isAnswering(socket: HttpSocket): boolean {
  return isResponding(socket) && socket._httpMessage?.req.complete === true;
}
