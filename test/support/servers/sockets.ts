/** Servers that tests write, and plain connections for bytes that no client library sends or accepts. */
import { once } from 'node:events';
import { type AddressInfo, connect, type Server, type Socket } from 'node:net';
import { atEndOfFile } from '#test/support/end-of-file.ts';

/** Lets a server listen on loopback until the test file ends. @returns its port */
export async function listenOn(server: Server & { closeAllConnections?(): void }): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEndOfFile(() => {
    server.close();
    server.closeAllConnections?.();
  });
  return (server.address() as AddressInfo).port;
}

/** Opens a connection. The caller handles its later errors. */
export function openSocket(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket));
    socket.once('error', reject);
  });
}

/** Sends the bytes of a text over a connection of its own. @returns everything until the server ends it */
export async function sendRaw(port: number, text: string): Promise<string> {
  const socket = await openSocket(port);
  socket.write(text, 'latin1');
  return readToEnd(socket);
}

/** The statuses of the responses in what was received, in order. */
export const statusesIn = (received: string) =>
  [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));

/** Reads until the server closes or resets the connection. Each character is a byte. */
export function readToEnd(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let received = '';
    socket.setEncoding('latin1').on('data', (part) => {
      received += part;
    });
    socket.on('error', () => {});
    socket.once('close', () => resolve(received));
  });
}
