/** Writes a response to a socket: its head and its body in one write where they are small. */
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';

/** Head and body up to so many bytes go out in one write. */
const LARGEST_TOGETHER = 64 * 1024;

/** Where a head and a body are put together; free again once the kernel has taken them. */
let scratch = Buffer.allocUnsafeSlow(LARGEST_TOGETHER);

/**
 * @param fields header lines, each with CR LF behind it
 * @param ofConnection further ones, about the connection
 * @param body a string has one byte a character
 */
export function writeResponse(
  socket: Socket,
  status: number,
  fields: string,
  ofConnection: string,
  body: string | Buffer,
): void {
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${fields}Date: ${httpDate()}\r\n${ofConnection}\r\n`;
  if (typeof body === 'string') {
    socket.write(head + body, 'latin1');
    return;
  }
  const length = head.length + body.length;
  if (length > LARGEST_TOGETHER) {
    socket.cork();
    socket.write(head, 'latin1');
    socket.write(body);
    socket.uncork();
    return;
  }
  scratch.write(head, 0, 'latin1');
  body.copy(scratch, head.length);
  socket.write(scratch.subarray(0, length));
  // The kernel did not take all of it at once: the socket reads the rest from there later.
  if (socket.writableLength > 0) scratch = Buffer.allocUnsafeSlow(LARGEST_TOGETHER);
}

let dateSecond = 0;
let date = '';

/** The time of a response, made once a second. */
function httpDate(): string {
  const second = Math.floor(Date.now() / 1000);
  if (second !== dateSecond) {
    dateSecond = second;
    date = new Date(second * 1000).toUTCString();
  }
  return date;
}
