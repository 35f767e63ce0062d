/** Plain connections to a server on loopback, for bytes that no client library sends or accepts. */
import { connect, type Socket } from 'node:net';

/** Opens a connection. The caller handles its later errors. */
export function openSocket(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket));
    socket.once('error', reject);
  });
}

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
