/**
 * The admin server of a program: `/healthz`, `/readyz` and `/metrics`. It listens on a separate address,
 * because clients must not see these.
 */
import { createServer, type Server } from 'node:http';
import {
  allowConnections,
  isResponding,
  makeConnections,
  newConnectionCells,
} from '../connections.ts';

/** The most connections on the admin address. */
export const ADMIN_CONNECTIONS = 16;

export interface AdminPages {
  /** The body of `/readyz`, which answers 503 unless `ready` is true. */
  readiness(): Promise<{ readonly ready: boolean }>;
  /** All metrics in the exposition format of Prometheus, and its content type. */
  metrics(): Promise<{ readonly body: string; readonly contentType: string }>;
}

interface AdminResponse {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

export function makeAdminServer(pages: AdminPages): Server {
  const cells = newConnectionCells();
  allowConnections(cells, ADMIN_CONNECTIONS, 0);
  const connections = makeConnections(cells, isResponding, () => performance.now());
  const times = { headersTimeout: 10_000, requestTimeout: 15_000 };
  const server = createServer(times, (request, response) => {
    connections.noteUse(request.socket);
    request.resume();
    respond(pages, request.url ?? '')
      .catch((error: Error) => ({ status: 500, type: 'text/plain', body: `${error.message}\n` }))
      .then(({ status, type, body }) => {
        response.writeHead(status, {
          'Content-Type': type,
          'Content-Length': Buffer.byteLength(body),
          'Cache-Control': 'no-store',
        });
        response.end(body);
      });
  });
  // At the limit, connections that are idle or never finish a request are closed for new ones.
  server.on('connection', (socket) => connections.take(socket));
  return server;
}

async function respond(pages: AdminPages, target: string): Promise<AdminResponse> {
  switch (target.split('?', 1)[0]) {
    case '/healthz':
      return json(200, { healthy: true });
    case '/readyz': {
      const state = await pages.readiness();
      return json(state.ready ? 200 : 503, state);
    }
    case '/metrics': {
      const { body, contentType } = await pages.metrics();
      return { status: 200, type: contentType, body };
    }
    default:
      return json(404, { error: 'Not found' });
  }
}

function json(status: number, value: unknown): AdminResponse {
  const type = 'application/json; charset=utf-8';
  return { status, type, body: `${JSON.stringify(value)}\n` };
}
