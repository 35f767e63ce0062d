/**
 * The admin address of a program other than the proxy. It is off unless the program's port is set, since
 * several of these programs may run on one machine.
 */
import type { Server } from 'node:http';
import { Registry } from 'prom-client';
import type { VariableName } from '../environment/variables.ts';
import { addressOf, listenAll } from '../listen.ts';
import { makeAdminServer } from './admin-server.ts';
import { addProcessMetrics } from './process-metrics.ts';
import { makeTasks, type Tasks } from './tasks.ts';

export interface ProgramAdmin {
  /** The program adds its own metrics to it. */
  readonly registry: Registry;
  readonly tasks: Tasks;
  /**
   * Listens, if the port is set. Call it before the program begins its work: if the port is taken, the
   * program must not start.
   * @returns the address; undefined if the admin address is off
   * @throws ConfigurationError
   */
  listen(): Promise<string | undefined>;
  /** From now on, `/readyz` answers 503. */
  announceEnd(): void;
  close(): void;
}

interface Readiness {
  readonly ready?: boolean;
  readonly [member: string]: unknown;
}

export interface ProgramAdminOptions {
  /** ADMIN_HOST */
  readonly host: string;
  /** Null if the admin address is off. */
  readonly port: number | null;
  readonly portVariable: VariableName;
  /** Called before the metrics and `/readyz` are read, so that their readings are recent. */
  readonly refresh?: () => Promise<void>;
  /** What the program adds to `/readyz`. If `ready` is false, the program is not ready. */
  readonly readiness?: () => Readiness;
}

/** The program is ready unless it is stopping, one of its tasks fails, or it says that it is not. */
export function makeProgramAdmin(options: ProgramAdminOptions): ProgramAdmin {
  const { host, port, portVariable, refresh = async () => {} } = options;
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
      if (port === null) return undefined;
      addProcessMetrics(registry);
      server = makeAdminServer({
        readiness: readState,
        async metrics() {
          await refresh();
          return { body: await registry.metrics(), contentType: registry.contentType };
        },
      });
      await listenAll([{ server, host, port, variables: ['ADMIN_HOST', portVariable] }]);
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
