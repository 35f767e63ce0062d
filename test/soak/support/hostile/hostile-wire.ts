/**
 * Sends hostile requests on a connection and reads the responses byte by byte, because no client
 * library would send or accept them.
 */
import type { Socket } from 'node:net';

export interface WireReply {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

export interface Exchanged {
  readonly replies: readonly WireReply[];
  /** The bytes after the last complete reply. */
  readonly rest: string;
  readonly isClosed: boolean;
}

/** If a server sends nothing for this long, it is waiting for more bytes. */
const QUIET_MS = 60;
const LONGEST_MS = 20_000;

/**
 * Sends bytes and reads the responses. A server may reset a refused client that keeps sending, so
 * errors of the socket are ignored and the bytes received before them count.
 * @param socket with a listener for errors
 * @param methods the methods of the requests in the bytes, if known: a response to HEAD has no body
 * @param isWhole whether exactly one response is expected; otherwise the connection is ended
 */
export function exchange(
  socket: Socket,
  bytes: string,
  methods: readonly string[],
  isWhole: boolean,
): Promise<Exchanged> {
  return new Promise((resolve, reject) => {
    let received = Buffer.alloc(0);
    let quiet: NodeJS.Timeout | undefined;
    const finish = (isClosed: boolean) => {
      clearTimeout(quiet);
      clearTimeout(longest);
      // Only these listeners: the socket itself also uses listeners.
      socket.off('data', take).off('end', hangUp).off('close', close);
      resolve({ ...parseReplies(received, methods), isClosed });
    };
    const longest = setTimeout(() => {
      socket.destroy();
      reject(new Error(`No end of the answer to ${JSON.stringify(bytes)}: ${received}`));
    }, LONGEST_MS);
    const listen = () => {
      clearTimeout(quiet);
      if (!isWhole) quiet = setTimeout(() => socket.end(), QUIET_MS);
    };
    const take = (part: Buffer) => {
      received = Buffer.concat([received, part]);
      listen();
      if (!isWhole) return;
      const { replies, rest } = parseReplies(received, methods);
      const [reply] = replies;
      if (reply !== undefined && rest === '' && reply.headers.get('connection') !== 'close') {
        finish(false);
      }
    };
    const hangUp = () => socket.end();
    const close = () => finish(true);
    socket.on('data', take).on('end', hangUp).on('close', close);
    socket.write(bytes, 'latin1');
    listen();
  });
}

function parseReplies(
  received: Buffer,
  methods: readonly string[],
): { replies: WireReply[]; rest: string } {
  const replies: WireReply[] = [];
  let at = 0;
  for (;;) {
    const end = received.indexOf('\r\n\r\n', at);
    if (end < 0) break;
    const [line = '', ...fields] = received.toString('latin1', at, end).split('\r\n');
    const status = Number(/^HTTP\/1\.[01] (\d{3}) /.exec(line)?.[1]);
    if (!(status >= 100)) break;
    const headers = new Map(
      fields.map((field) => {
        const colon = field.indexOf(':');
        return [field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim()];
      }),
    );
    if (status === 100) {
      // nginx sends 100 whenever a client expects it, with or without a body. A response follows.
      at = end + 4;
      continue;
    }
    const contentLength = Number(headers.get('content-length') ?? 0);
    // A malformed request may be refused with a body even if it begins with HEAD.
    const isHead =
      methods[replies.length] === 'HEAD' && received.length - end - 4 !== contentLength;
    const length = status === 204 || status === 304 || isHead ? 0 : contentLength;
    if (end + 4 + length > received.length) break;
    replies.push({ status, headers, body: received.subarray(end + 4, end + 4 + length) });
    at = end + 4 + length;
  }
  return { replies, rest: received.toString('latin1', at) };
}
