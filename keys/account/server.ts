/**
 * The HTTP server of the pages: it limits connections and enforces time limits for clients. `app.ts`
 * answers the requests; Node answers invalid HTTP.
 */
import { createServer, type Server } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import type { Logger } from 'pino';
import { CLIENT_LIMITS, makeConnections } from '../../lib/program/connections.ts';
import type { App } from './routes/replies.ts';

/** How long a client may neither send nor read anything. */
const LONGEST_SILENCE_MS = 30_000;

/** @param cells the limit on connections and their counts, from `newConnectionCells` */
export function makeAccountServer(app: App, cells: Float64Array, log: Logger): Server {
  const server = createServer(CLIENT_LIMITS);
  server.setTimeout(LONGEST_SILENCE_MS);
  const connections = makeConnections(cells, log);
  server.on('connection', connections.take);
  server.on('request', (_, response) => connections.useFor(response));
  // The host name for requests without a Host field, which HTTP/1.0 allows.
  server.on('request', getRequestListener(app.fetch, { hostname: 'localhost' }));
  return server;
}
