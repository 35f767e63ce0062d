/**
 * The admin server of a program: `/healthz`, `/readyz` and `/metrics`. It listens on a separate address,
 * because clients must not see these.
 */
import { createServer, type Server } from 'node:http';

/** The most connections on the admin address. */
const MOST_CONNECTIONS = 16;
/** Unfinished requests and idle connections make room for others after this time. */
const TIMES = {
  headersTimeout: 5_000,
  requestTimeout: 5_000,
  connectionsCheckingInterval: 1_000,
  keepAliveTimeout: 5_000,
};

export interface AdminPages {
  /** The body of `/readyz`, which answers 503 unless `ready` is true. */
  readiness(): Promise<{ readonly ready: boolean }>;
  /** All metrics in the exposition format of Prometheus, and its content type. */
  metrics(): Promise<{ readonly body: string; readonly contentType: string }>;
}

export function makeAdminServer(pages: AdminPages): Server {
  const server = createServer(TIMES, async (request, response) => {
    const { status, type, body } = await respond(pages, request.url ?? '').catch(
      (error: Error) => ({ status: 500, type: 'text/plain', body: `${error.message}\n` }),
    );
    response.writeHead(status, { 'Content-Type': type, 'Cache-Control': 'no-store' }).end(body);
  });
  server.maxConnections = MOST_CONNECTIONS;
  return server;
}

async function respond(pages: AdminPages, target: string) {
  const json = (status: number, value: unknown) => {
    return { status, type: 'application/json; charset=utf-8', body: `${JSON.stringify(value)}\n` };
  };
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
