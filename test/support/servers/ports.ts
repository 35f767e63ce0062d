/** Finds free ports on loopback, and checks whether a server listens. */
import { connect, createServer } from 'node:net';

/** A free port of 127.0.0.1. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port was given');
  return address.port;
}

/**
 * Whether a server listens.
 * @param address a port of 127.0.0.1, or the path of a socket
 */
export function listens(address: number | string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = typeof address === 'number' ? connect(address, '127.0.0.1') : connect(address);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
