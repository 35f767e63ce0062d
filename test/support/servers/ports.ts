/** Ports on loopback for servers that cannot choose one themselves. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/**
 * The system gives ports from 32768 on to clients and to servers that listen on port 0, so those below
 * are free for tests. Processes begin at different ports.
 */
const FIRST = 10_000;
const COUNT = 22_000;
/** Who listens here on a port has taken this port of 127.0.0.1: no two test processes get the same. */
const TAKEN_AT = '127.255.0.1';
let next = (process.pid * 97) % COUNT;

/** A port of 127.0.0.1 that no other test gets until this process ends. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < COUNT; tries++) {
    next = (next + 1) % COUNT;
    const port = FIRST + next;
    const take = await listenAt(TAKEN_AT, port);
    if (take === undefined) continue;
    const trial = await listenAt('127.0.0.1', port);
    if (trial === undefined) {
      take.close();
      continue;
    }
    trial.close();
    await once(trial, 'close');
    return port;
  }
  throw new Error('no port is free');
}

function listenAt(host: string, port: number): Promise<Server | undefined> {
  const server = createServer().unref();
  return new Promise((resolve) => {
    server.once('error', () => resolve(undefined));
    server.listen(port, host, () => resolve(server));
  });
}
