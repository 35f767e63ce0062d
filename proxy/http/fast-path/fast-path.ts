/**
 * The short way for the requests that nearly all are: a GET under the base whose whole head came in
 * one piece and says nothing unusual. Such a head is read here and answered with one write. At the
 * first byte of anything else the connection is handed to Node's HTTP server, for good, with that
 * byte still unread: what is odd, hostile or slow is dealt with there and nowhere else.
 */
import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { NoteUse } from '../../../program/connections.ts';
import { type RequestHead, readHead } from '../request-head.ts';
import type { ApiHandler, Responder } from '../responder.ts';
import { BASE } from '../routes.ts';

/** In bytes; a longer head is unusual. */
const LONGEST_HEAD = 8 * 1024;
const MOST_FIELDS = 64;
/** Past so many bytes that a client has not taken yet, its next request waits. */
const MOST_UNSENT = 64 * 1024;
/** Head and body up to so many bytes go out in one write. */
const LARGEST_TOGETHER = 64 * 1024;

/** Up to the "/" behind the base, with which a target begins. */
const BEFORE_TARGET = Buffer.from(`GET ${BASE}/`);
const VERSION = Buffer.from(' HTTP/1.1\r\n');
const END_OF_HEAD = Buffer.from('\r\n\r\n');
const IN_TARGET = new Uint8Array(256);
for (const byte of Buffer.from(
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._~?&=%+,:;@!*'()$-",
)) {
  IN_TARGET[byte] = 1;
}
const FIELD_NAME = /^[A-Za-z0-9-]+$/;
const FIELD_VALUE = /^[ -~]*$/;
/** Fields that change how a connection is read or used. */
const UNUSUAL = new Set([
  'content-length',
  'expect',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

export interface PlainRequest {
  /** Path and query, as they stand behind the base. */
  readonly target: string;
  readonly head: RequestHead;
  /** Where the next request begins. */
  readonly end: number;
}

/**
 * @returns what reads the request at a place of what one connection sent; undefined when Node must
 * read it. Clients say the same fields again and again: those are read once. Nothing that it hands
 * on holds the bytes.
 */
export function makePlainReader(): (bytes: Buffer, at: number) => PlainRequest | undefined {
  /** The fields stand from the end of the request line to the end of the head. */
  let last: { readonly fields: Buffer; readonly head: RequestHead } | undefined;
  return (bytes, at) => {
    if (!standsAt(bytes, at, BEFORE_TARGET)) return undefined;
    const longest = Math.min(bytes.length, at + LONGEST_HEAD);
    let targetEnd = at + BEFORE_TARGET.length;
    while (targetEnd < longest && IN_TARGET[bytes[targetEnd]] === 1) targetEnd++;
    if (!standsAt(bytes, targetEnd, VERSION)) return undefined;
    const fieldsAt = targetEnd + VERSION.length - 2;
    if (last === undefined || !standsAt(bytes, fieldsAt, last.fields)) {
      const fieldsEnd = bytes.indexOf(END_OF_HEAD, fieldsAt);
      if (fieldsEnd < 0 || fieldsEnd - at > LONGEST_HEAD) return undefined;
      const rawHeaders = readFields(bytes.toString('latin1', fieldsAt, fieldsEnd));
      if (rawHeaders === undefined) return undefined;
      last = {
        fields: Buffer.from(bytes.subarray(fieldsAt, fieldsEnd + END_OF_HEAD.length)),
        head: readHead({ rawHeaders, httpVersion: '1.1' }),
      };
    }
    const end = fieldsAt + last.fields.length;
    // Fields that were read before may stand behind a longer target now.
    if (end - END_OF_HEAD.length - at > LONGEST_HEAD) return undefined;
    const target = bytes.toString('latin1', at + BEFORE_TARGET.length - 1, targetEnd);
    return { target, head: last.head, end };
  };
}

function standsAt(bytes: Buffer, at: number, wanted: Buffer): boolean {
  if (at + wanted.length > bytes.length) return false;
  for (let i = 0; i < wanted.length; i++) if (bytes[at + i] !== wanted[i]) return false;
  return true;
}

/**
 * @param text the fields, each with CR LF before it
 * @returns names and values in turn, as Node has them; undefined when one is unusual
 */
function readFields(text: string): IncomingMessage['rawHeaders'] | undefined {
  const fields: string[] = [];
  for (let at = 0; at < text.length; ) {
    const next = text.indexOf('\r\n', at + 2);
    const end = next < 0 ? text.length : next;
    const colon = text.indexOf(':', at);
    if (colon < 0 || colon > end || fields.length === MOST_FIELDS * 2) return undefined;
    const name = text.slice(at + 2, colon);
    const value = text.slice(colon + 1, end);
    if (!FIELD_NAME.test(name) || !FIELD_VALUE.test(value)) return undefined;
    const folded = name.toLowerCase();
    if (UNUSUAL.has(folded)) return undefined;
    const trimmed = value.trim();
    if (folded === 'connection' && trimmed.toLowerCase() !== 'keep-alive') return undefined;
    fields.push(name, trimmed);
    at = end;
  }
  return fields;
}

export interface PlainOptions {
  readonly api: ApiHandler;
  /** Lets Node's HTTP server go on with a connection; what it has yet to read is back in the socket. */
  readonly handOver: (socket: Socket) => void;
  /** A handler threw; the response says so. */
  readonly onError: (error: unknown, response: Responder) => void;
  /** Answers a client that has sent nothing at all. */
  readonly onSilence: (socket: Socket) => void;
  /** How long it may take for its first byte. */
  readonly firstByteMs: number;
  /** How long a connection is kept between requests. */
  readonly keepAliveMs: number;
  /** How long a client may take for what it was sent. */
  readonly longestDrainMs: number;
}

export interface PlainConnections {
  /** @param noteUse called for each request */
  take(socket: Socket, noteUse: NoteUse): void;
  /** Whether a request of a connection that was taken here is being answered. */
  isAnswering(socket: Socket): boolean;
  /** From now on each response is the last on its connection. */
  announceEnd(): void;
  closeIdle(): void;
  closeAll(): void;
}

interface PlainConnection {
  readonly isAnswering: () => boolean;
  readonly isIdle: () => boolean;
}

export function makePlainConnections(options: PlainOptions): PlainConnections {
  const connections = new Map<Socket, PlainConnection>();
  let isEnding = false;
  return {
    take(socket, noteUse) {
      const connection = serve(
        socket,
        noteUse,
        options,
        () => isEnding,
        () => connections.delete(socket),
      );
      connections.set(socket, connection);
    },
    isAnswering: (socket) => connections.get(socket)?.isAnswering() ?? false,
    announceEnd() {
      isEnding = true;
    },
    closeIdle() {
      for (const [socket, { isIdle }] of connections) if (isIdle()) socket.destroy();
    },
    closeAll() {
      for (const socket of connections.keys()) socket.destroy();
    },
  };
}

function serve(
  socket: Socket,
  noteUse: NoteUse,
  { api, handOver, onError, onSilence, firstByteMs, keepAliveMs, longestDrainMs }: PlainOptions,
  isEnding: () => boolean,
  forget: () => void,
): PlainConnection {
  const readPlain = makePlainReader();
  let unread: Buffer | undefined;
  let isBusy = false;
  let isAdvancing = false;
  // The client has sent its last, or has been told that no more is answered.
  let isOver = false;
  let hasAnswered = false;
  let drainTimer: NodeJS.Timeout | undefined;

  socket.setTimeout(firstByteMs);
  const listeners = {
    data: onData,
    drain: onDrain,
    end: onEnd,
    timeout: onTimeout,
    // It is closed next.
    error: () => {},
    close: leave,
  };
  for (const [name, listener] of Object.entries(listeners)) socket.on(name, listener);

  function onData(chunk: Buffer): void {
    unread = unread === undefined ? chunk : Buffer.concat([unread, chunk]);
    advance();
    // What is left waits until the response under way is sent.
    if (unread !== undefined) socket.pause();
  }

  /** Answers what was sent, request by request, as far as can be done now. */
  function advance(): void {
    if (isAdvancing || isBusy || unread === undefined) return;
    isAdvancing = true;
    const bytes = unread;
    let at = 0;
    while (at < bytes.length && !isBusy && !isOver && socket.writableLength < MOST_UNSENT) {
      const request = readPlain(bytes, at);
      if (request === undefined) {
        giveAway(bytes.subarray(at));
        return;
      }
      at = request.end;
      answer(request);
    }
    isAdvancing = false;
    const wasPaused = socket.isPaused();
    unread = at < bytes.length && !isOver ? bytes.subarray(at) : undefined;
    if (unread === undefined && wasPaused) socket.resume();
  }

  function answer({ target, head }: PlainRequest): void {
    isBusy = true;
    noteUse();
    const response = makeResponse();
    try {
      api({ method: 'GET', socket, head, target }, response);
    } catch (error) {
      onError(error, response);
    }
  }

  function makeResponse(): Responder {
    let isSent = false;
    return {
      isSent: () => isSent,
      send(status, fields, payload, isLast) {
        if (isSent) return;
        isSent = true;
        const isClosing = (isLast ?? false) || isEnding() || isOver;
        const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${fields}Date: ${httpDate()}\r\n${isClosing ? 'Connection: close' : connectionField}\r\n\r\n`;
        if (typeof payload === 'string') socket.write(head + payload, 'latin1');
        else writeTogether(socket, head, payload);
        if (!hasAnswered) {
          hasAnswered = true;
          socket.setTimeout(keepAliveMs);
        }
        isBusy = false;
        if (isClosing) {
          isOver = true;
          socket.end();
        }
        // Only what the kernel would not take at once is still here: no timer for nearly every response.
        if (socket.writableLength > 0) limitDrain();
        advance();
      },
      destroy() {
        // Requests that the client sent after this one can no longer be answered, and must not count.
        isOver = true;
        socket.destroy();
      },
    };
  }

  const connectionField = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(keepAliveMs / 1000)}`;

  /** Gives up on a client that has not taken by then what is unsent now. */
  function limitDrain(): void {
    if (drainTimer !== undefined) return;
    const goal = socket.bytesWritten;
    drainTimer = setTimeout(() => {
      drainTimer = undefined;
      if (socket.bytesWritten - socket.writableLength < goal) socket.destroy();
      else if (socket.writableLength > 0) limitDrain();
    }, longestDrainMs);
    drainTimer.unref();
  }

  function onDrain(): void {
    // It has taken all: its next pause is a new one.
    clearTimeout(drainTimer);
    drainTimer = undefined;
    advance();
  }

  function giveAway(rest: Buffer): void {
    leave();
    unread = undefined;
    socket.setTimeout(0);
    // What flows already would not begin anew with what is put back.
    socket.pause();
    socket.unshift(rest);
    handOver(socket);
    socket.resume();
  }

  function leave(): void {
    for (const [name, listener] of Object.entries(listeners)) socket.off(name, listener);
    clearTimeout(drainTimer);
    forget();
  }

  function onEnd(): void {
    isOver = true;
    if (!isBusy) socket.end();
  }

  function onTimeout(): void {
    if (!hasAnswered && !isBusy) onSilence(socket);
    else if (!isBusy && socket.writableLength === 0) socket.destroy();
  }

  return {
    isAnswering: () => isBusy,
    isIdle: () => !isBusy && unread === undefined && socket.writableLength === 0,
  };
}

/** Where a head and a body are put together for one write; free again once the kernel has taken it. */
let scratch = Buffer.allocUnsafeSlow(LARGEST_TOGETHER);

function writeTogether(socket: Socket, head: string, body: Buffer): void {
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
  // The kernel did not take all of it at once: what is left is read from there later.
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
