/**
 * Makes the servers of a program listen, and closes them. If any cannot listen, one error has a line for each of them, with
 * the cause and the variable to change.
 */
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ConfigurationError } from './environment/environment.ts';
import type { VariableName } from './environment/variables.ts';

export interface Listener {
  readonly server: Server;
  readonly host: string;
  readonly port: number;
  /** The variables that hold the host and the port. */
  readonly variables: readonly [host: VariableName, port: VariableName];
  /** Whether other listeners may share the port. */
  readonly reusePort?: boolean;
}

/** @throws ConfigurationError with a line for each server that cannot listen */
export async function listenAll(listeners: readonly Listener[]): Promise<void> {
  const faults = await Promise.all(
    listeners.map(async (listener) => {
      try {
        await listen(listener);
        return [];
      } catch (error) {
        return [explain(error as NodeJS.ErrnoException, listener, listeners)];
      }
    }),
  );
  if (faults.flat().length > 0) throw new ConfigurationError(faults.flat().join('\n'));
}

/** The address on which a server listens, such as "127.0.0.1:8080". */
export function addressOf(server: Server): string {
  const { address, port } = server.address() as AddressInfo;
  return `${address}:${port}`;
}

function listen({ server, host, port, reusePort = false }: Listener): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host, reusePort }, resolve);
  });
}

function explain(
  { code, message }: NodeJS.ErrnoException,
  { host, port, variables }: Listener,
  all: readonly Listener[],
): string {
  const [hostName, portName] = variables;
  const what = `Cannot listen on ${host.includes(':') ? `[${host}]` : host}:${port}`;
  if (code === 'EACCES') {
    return `${what}: ports below 1024 usually need the capability CAP_NET_BIND_SERVICE. Set ${portName} to a port from 1024 on.`;
  }
  if (code !== 'EADDRINUSE') {
    return `${what}: ${message}. Set ${hostName} to an address of this machine, such as 127.0.0.1, or to 0.0.0.0 for all of them.`;
  }
  const twin = all.find(
    (other) => other.variables[1] !== portName && other.port === port && other.host === host,
  );
  return twin === undefined
    ? `${what}: another program listens there. Stop it, or set ${portName} to another port.`
    : `${what}: ${portName} and ${twin.variables[1]} are the same. Set one of them to another port.`;
}

const IDLE_CHECK_MS = 100;

export interface ClosableServer {
  close(onClosed: () => void): void;
  closeIdleConnections(): void;
  closeAllConnections(): void;
}

/**
 * Stops listening; requests under way can finish. Resolves when all connections are closed.
 * @param deadlineMs after this time, connections that are still open are cut
 */
export async function closeServer(server: ClosableServer, deadlineMs: number): Promise<void> {
  const cut = setTimeout(() => server.closeAllConnections(), deadlineMs);
  const closed = new Promise<void>((resolve) => server.close(resolve));
  // Repeated, because a busy connection becomes idle when its response has been sent.
  const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS);
  await closed;
  clearInterval(idle);
  clearTimeout(cut);
}
