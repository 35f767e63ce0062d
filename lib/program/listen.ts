/** Makes the servers of a program listen, and closes them. */
import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import { ConfigurationError } from './environment/environment.ts';
import type { VariableName } from './environment/variables.ts';

interface Listener {
  readonly server: Server;
  readonly host: string;
  readonly port: number;
  /** The variables that hold the host and the port. */
  readonly variables: readonly [host: VariableName, port: VariableName];
  /** Whether other listeners may share the port. */
  readonly reusePort?: boolean;
}

/**
 * @returns the address on which the server listens, such as "127.0.0.1:8080"
 * @throws ConfigurationError with the cause and the variables to change
 */
export async function listen(listener: Listener): Promise<string> {
  const { server, host, port, variables, reusePort = false } = listener;
  try {
    await once(server.listen({ port, host, reusePort }), 'listening');
  } catch (cause) {
    const [hostName, portName] = variables;
    throw new ConfigurationError(
      `Cannot listen: ${(cause as Error).message}. ${hostName} must be an address of this machine, such as 127.0.0.1, and port ${port}, which ${portName} chooses, must be free; a port below 1024 usually needs the capability CAP_NET_BIND_SERVICE.`,
      { cause },
    );
  }
  const found = server.address() as AddressInfo;
  return `${found.address}:${found.port}`;
}

const IDLE_CHECK_MS = 100;

interface ClosableServer {
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
