/** Ports of loopback: one that is free, and whether a server has come to listen. */
import { connect, createServer } from 'node:net';

/** A port of 127.0.0.1 that nobody listens on. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port was given');
  return address.port;
}

/**
 * Whether somebody listens.
 * @param place a port of 127.0.0.1, or the path of a socket
 */
export function listens(place: number | string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = typeof place === 'number' ? connect(place, '127.0.0.1') : connect(place);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
