/**
 * A connection that hostile requests are sent on and their answers read from, byte by byte: what
 * no client library would send or take.
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
  /** What was received and is no whole reply. */
  readonly rest: string;
  readonly isClosed: boolean;
}

/** A server that is silent for so long has nothing to say to what it was sent. */
const QUIET_MS = 60;
const LONGEST_MS = 20_000;

/**
 * Sends bytes and reads the answers. A refused client that goes on sending is reset, so that errors
 * of the socket say nothing: what was received before counts.
 * @param socket with a listener for errors
 * @param methods of the requests in the bytes, as far as they are known: HEAD has no body
 * @param isWhole whether one answer is all there is to wait for; else the connection is ended
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
      // Only these: a socket hears of its own end by listeners too.
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
      // nginx says so to whoever asks, body or none: an answer follows.
      at = end + 4;
      continue;
    }
    const said = Number(headers.get('content-length') ?? 0);
    // What could not be read as a request may be refused with a body, though it begins with HEAD.
    const isHead = methods[replies.length] === 'HEAD' && received.length - end - 4 !== said;
    const length = status === 204 || status === 304 || isHead ? 0 : said;
    if (end + 4 + length > received.length) break;
    replies.push({ status, headers, body: received.subarray(end + 4, end + 4 + length) });
    at = end + 4 + length;
  }
  return { replies, rest: received.toString('latin1', at) };
}
