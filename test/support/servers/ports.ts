/**
 * Free ports on loopback, for servers that cannot choose one themselves, and whether a server listens.
 */
import { connect, createServer } from 'node:net';

/**
 * The system gives ports from 32768 on to clients and to servers that listen on port 0, so that a port
 * below is free until the server listens that it was meant for. Processes begin at different ports.
 */
const FIRST = 10_000;
const COUNT = 22_000;
let next = (process.pid * 97) % COUNT;

/** A free port of 127.0.0.1, which this process does not use twice. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < COUNT; tries++) {
    next = (next + 1) % COUNT;
    if (await isFree(FIRST + next)) return FIRST + next;
  }
  throw new Error('no port is free');
}

function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
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
