/**
 * The admin address of a program: `/healthz`, `/readyz` and `/metrics`, apart from the public address,
 * because clients must not see these.
 */
import { createServer } from 'node:http';
import { Registry } from 'prom-client';
import { listen } from '../listen.ts';
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

/** Several programs usually share one machine and one .env, so each has a port at a distance from ADMIN_PORT. */
const PORT_DISTANCES = { proxy: 0, schedule: 5, account: 6, replica: 7 } as const;
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

interface ProgramAdminOptions {
  readonly program: AdminProgram;
  readonly settings: { readonly ADMIN_HOST: string; readonly ADMIN_PORT: number };
  /** Called before the metrics and `/readyz` are read, so that their readings are recent. */
  readonly refresh?: () => Promise<void>;
  /** What the program adds to `/readyz`. If `ready` is false, the program is not ready. */
  readonly readiness?: () => { readonly ready?: boolean; readonly [member: string]: unknown };
  /** Metrics that are not in the registry, in the exposition format of Prometheus. */
  readonly furtherMetrics?: () => string;
}

/** The program is ready unless it is stopping, one of its tasks fails, or it says that it is not. */
export function makeProgramAdmin(options: ProgramAdminOptions): ProgramAdmin {
  const { program, settings, furtherMetrics = () => '' } = options;
  const registry = new Registry();
  const tasks = makeTasks(registry);
  let stopping = false;
  addProcessMetrics(registry);

  const json = (status: number, value: unknown) => {
    return { status, type: 'application/json; charset=utf-8', body: `${JSON.stringify(value)}\n` };
  };

  async function respond(path: string) {
    if (path === '/healthz') return json(200, { healthy: true });
    if (path !== '/readyz' && path !== '/metrics') return json(404, { error: 'Not found' });
    await options.refresh?.();
    if (path === '/metrics') {
      const body = `${await registry.metrics()}\n${furtherMetrics()}`;
      return { status: 200, type: registry.contentType, body };
    }
    const { ready: isReady = true, ...others } = options.readiness?.() ?? {};
    const states = tasks.states();
    const areTasksDone = Object.values(states).every(({ error }) => error === null);
    const ready = isReady && areTasksDone && !stopping;
    const hasTasks = Object.keys(states).length > 0;
    const body = { program, ready, stopping, ...others, ...(hasTasks && { tasks: states }) };
    return json(ready ? 200 : 503, body);
  }

  const server = createServer(TIMES, async (request, response) => {
    const { status, type, body } = await respond((request.url ?? '').split('?', 1)[0]).catch(
      ({ message }: Error) => ({ status: 500, type: 'text/plain', body: `${message}\n` }),
    );
    response.writeHead(status, { 'Content-Type': type, 'Cache-Control': 'no-store' }).end(body);
  });
  server.maxConnections = MOST_CONNECTIONS;

  return {
    registry,
    tasks,
    listen() {
      const [host, port] = [settings.ADMIN_HOST, adminPortOf(program, settings.ADMIN_PORT)];
      return listen({ server, host, port, variables: ['ADMIN_HOST', 'ADMIN_PORT'] });
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
