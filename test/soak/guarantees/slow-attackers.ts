/**
 * A worker thread with slow clients: some send a request head byte by byte, some never read the
 * responses. It gets the server's port and the number of each kind. Once all connections are open it
 * posts their local ports, because only the kernel knows whether the server still holds them: a client
 * that does not read does not notice.
 */
import { connect, type Socket } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';

/** The thread's workerData. */
export interface Attack {
  readonly port: number;
  readonly senders: number;
  readonly readers: number;
  /** The bytes that a slow reader sends at once. */
  readonly requests: string;
}

/** The local ports of the connections. */
export interface Opened {
  readonly senders: readonly number[];
  readonly readers: readonly number[];
}

const DRIP_MS = 1_000;
const AT_ONCE = 50;

async function attack({ port, senders, readers, requests }: Attack): Promise<void> {
  const sockets: Socket[] = [];
  const open = (first: string, reads: boolean) =>
    new Promise<number>((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => {
        socket.write(first);
        resolve(socket.localPort ?? 0);
      });
      sockets.push(socket);
      socket.once('error', reject);
      socket.on('error', () => {});
      if (reads) socket.resume();
      else socket.pause();
    });
  const openMany = async (count: number, first: string, reads: boolean) => {
    const ports: number[] = [];
    while (ports.length < count) {
      const some = Array.from({ length: Math.min(AT_ONCE, count - ports.length) }, () =>
        open(first, reads),
      );
      ports.push(...(await Promise.all(some)));
    }
    return ports;
  };
  const readerPorts = await openMany(readers, requests, false);
  const senderPorts = await openMany(senders, 'GET /api/v1/stats HTTP/1.1\r\nX-', true);
  const dripping = sockets.slice(readers);
  setInterval(() => {
    for (const socket of dripping) socket.write('a');
  }, DRIP_MS);
  parentPort?.postMessage({ senders: senderPorts, readers: readerPorts } satisfies Opened);
}

if (parentPort !== null) await attack(workerData as Attack);
