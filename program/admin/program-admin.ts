/** The admin address of a program other than the proxy. */
import type { Server } from 'node:http';
import { Registry } from 'prom-client';
import { addressOf, listenAll } from '../listen.ts';
import { makeAdminServer } from './admin-server.ts';
import { addProcessMetrics } from './metrics.ts';
import { makeTasks, type Tasks } from './tasks.ts';

/** Several programs usually share one machine and one .env, so each has a port at a distance from ADMIN_PORT. */
const PORT_DISTANCES = { schedule: 5, account: 6, replica: 7 } as const;

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

interface Readiness {
  readonly ready?: boolean;
  readonly [member: string]: unknown;
}

export interface ProgramAdminOptions {
  readonly program: AdminProgram;
  readonly settings: { readonly ADMIN_HOST: string; readonly ADMIN_PORT: number };
  /** Called before the metrics and `/readyz` are read, so that their readings are recent. */
  readonly refresh?: () => Promise<void>;
  /** What the program adds to `/readyz`. If `ready` is false, the program is not ready. */
  readonly readiness?: () => Readiness;
}

/** The program is ready unless it is stopping, one of its tasks fails, or it says that it is not. */
export function makeProgramAdmin(options: ProgramAdminOptions): ProgramAdmin {
  const { program, settings, refresh = async () => {} } = options;
  const registry = new Registry();
  const tasks = makeTasks(registry);
  let isStopping = false;
  let server: Server | undefined;

  async function readState() {
    await refresh();
    const { ready = true, ...others } = options.readiness?.() ?? {};
    const states = tasks.states();
    const areTasksDone = Object.values(states).every(({ error }) => error === null);
    const isReady = ready && areTasksDone && !isStopping;
    return { ready: isReady, stopping: isStopping, ...others, tasks: states };
  }

  return {
    registry,
    tasks,
    async listen() {
      addProcessMetrics(registry);
      server = makeAdminServer({
        readiness: readState,
        async metrics() {
          await refresh();
          return { body: await registry.metrics(), contentType: registry.contentType };
        },
      });
      const host = settings.ADMIN_HOST;
      const port = adminPortOf(program, settings.ADMIN_PORT);
      await listenAll([{ server, host, port, variables: ['ADMIN_HOST', 'ADMIN_PORT'] }]);
      return addressOf(server);
    },
    announceEnd() {
      isStopping = true;
    },
    close() {
      server?.close();
      server?.closeAllConnections();
    },
  };
}
