/** Plain connections to a server of loopback, for bytes that no client library sends or takes. */
import { connect, type Socket } from 'node:net';

/** A connection, once it is there; from then on its errors are the caller's to hear. */
export function openSocket(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket));
    socket.once('error', reject);
  });
}

/** All that comes until the server closes, a byte a character, also where it resets in the end. */
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
