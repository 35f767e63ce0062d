/**
 * Makes the servers of a program listen. If any cannot, one error has a line for each of them, with
 * the cause and the variable to change.
 */
import type { AddressInfo, Server } from 'node:net';
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

/**
 * @param others what other threads of the program listen on, for the error
 * @throws ConfigurationError with a line for each server that cannot listen
 */
export async function listenAll(
  listeners: readonly Listener[],
  others: readonly Omit<Listener, 'server'>[] = [],
): Promise<void> {
  const faults = await Promise.all(
    listeners.map(async (listener) => {
      try {
        await listen(listener);
        return [];
      } catch (error) {
        return [explain(error as NodeJS.ErrnoException, listener, [...listeners, ...others])];
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
  all: readonly Omit<Listener, 'server'>[],
): string {
  const [hostName, portName] = variables;
  const what = `Cannot listen on ${host.includes(':') ? `[${host}]` : host}:${port}`;
  const anAddress = `Set ${hostName} to an address of this machine, such as 127.0.0.1, or to 0.0.0.0 for all of them.`;
  switch (code) {
    case 'EADDRINUSE': {
      const twin = all.find(
        (other) => other.variables[1] !== portName && other.port === port && other.host === host,
      );
      return twin === undefined
        ? `${what}: another program listens there. Stop it, or set ${portName} to another port.`
        : `${what}: ${portName} and ${twin.variables[1]} are the same. Set one of them to another port.`;
    }
    case 'EACCES':
    case 'EPERM':
      return `${what}: the system does not allow it; ports below 1024 usually need the capability CAP_NET_BIND_SERVICE. Set ${portName} to a port from 1024 on.`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case 'ENODATA':
      return `${what}: there is no host ${JSON.stringify(host)}. ${anAddress}`;
    case 'EADDRNOTAVAIL':
    case 'EAFNOSUPPORT':
    case 'EINVAL':
      return `${what}: this machine does not have that address. ${anAddress}`;
    default:
      return `${what}: ${message}. Check ${hostName} and ${portName}.`;
  }
}
