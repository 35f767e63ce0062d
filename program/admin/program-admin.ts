/**
 * The admin address of a program: `/healthz`, `/readyz` and `/metrics`, apart from the public address,
 * because clients must not see these.
 */
import { createServer, type Server } from 'node:http';
import { Registry } from 'prom-client';
import { addressOf, listenAll } from '../listen.ts';
import { addProcessMetrics } from './metrics.ts';
import { makeTasks, type Tasks } from './tasks.ts';

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

/** Several programs usually share one machine and one .env, so each has a port at a distance from ADMIN_PORT. */
const PORT_DISTANCES = { schedule: 5, account: 6, replica: 7 } as const;

/** The programs other than the proxy, which has an admin server of its own. */
export type AdminProgram = keyof typeof PORT_DISTANCES;

/** @param adminPort ADMIN_PORT; with 0, the system chooses a port */
export function adminPortOf(program: AdminProgram, adminPort: number): number {
  return adminPort === 0 ? 0 : adminPort + PORT_DISTANCES[program];
}

export interface ProgramAdmin {
  /** The program adds its own metrics to it. */
  readonly registry: Registry;
  readonly tasks: Tasks;
  /**
   * Call it before the program begins its work: if the port is taken, the program must not start.
   * @returns the address
   * @throws ConfigurationError
   */
  listen(): Promise<string>;
  /** From now on, `/readyz` answers 503. */
  announceEnd(): void;
  close(): void;
}

export interface ProgramAdminOptions {
  readonly program: AdminProgram;
  readonly settings: { readonly ADMIN_HOST: string; readonly ADMIN_PORT: number };
  /** Called before the metrics and `/readyz` are read, so that their readings are recent. */
  readonly refresh?: () => Promise<void>;
  /** What the program adds to `/readyz`. If `ready` is false, the program is not ready. */
  readonly readiness?: () => { readonly ready?: boolean; readonly [member: string]: unknown };
}

/** The program is ready unless it is stopping, one of its tasks fails, or it says that it is not. */
export function makeProgramAdmin(options: ProgramAdminOptions): ProgramAdmin {
  const { program, settings, refresh = async () => {} } = options;
  const registry = new Registry();
  const tasks = makeTasks(registry);
  let stopping = false;
  const server = makeAdminServer({
    async readiness() {
      await refresh();
      const { ready: isReady = true, ...others } = options.readiness?.() ?? {};
      const states = tasks.states();
      const areTasksDone = Object.values(states).every(({ error }) => error === null);
      const ready = isReady && areTasksDone && !stopping;
      return { ready, stopping, ...others, tasks: states };
    },
    async metrics() {
      await refresh();
      return { body: await registry.metrics(), contentType: registry.contentType };
    },
  });

  return {
    registry,
    tasks,
    async listen() {
      addProcessMetrics(registry);
      const host = settings.ADMIN_HOST;
      const port = adminPortOf(program, settings.ADMIN_PORT);
      await listenAll([{ server, host, port, variables: ['ADMIN_HOST', 'ADMIN_PORT'] }]);
      return addressOf(server);
    },
    announceEnd() {
      stopping = true;
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
