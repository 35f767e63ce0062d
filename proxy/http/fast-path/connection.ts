/**
 * One connection of the fast path. It reads one request, answers it, then reads the next, so that
 * responses keep their order.
 *
 * Invariant: when the connection is handed over to Node's HTTP server, every byte either belongs to a
 * request that was answered here or is still unread.
 */
import type { Socket } from 'node:net';
import type { ApiHandler, Responder } from '../message/responder.ts';
import { makeDrainLimit } from './drain-limit.ts';
import { encodeRequestLine, type FastRequest, makeRequestReader } from './request-reader.ts';
import { writePiecesTo, writeResponse } from './write-response.ts';

/** In bytes. While the client has at least this much left to read, its next request waits. */
const MOST_UNSENT = 64 * 1024;

/** The options that all connections have in common. */
export interface FastPathOptions {
  readonly api: ApiHandler;
  /** Hands a connection over to Node's HTTP server; the unread bytes were put back into the socket. */
  readonly handOver: (socket: Socket) => void;
  /** Called when a handler threw; must send an error or close the connection. */
  readonly onError: (error: unknown, response: Responder) => void;
  /** Called when a client has not sent anything in time; must end the connection. */
  readonly onSilence: (socket: Socket) => void;
  /** How long a client may take to send its first byte. */
  readonly firstByteMs: number;
  /** How long a connection is kept between requests. */
  readonly keepAliveMs: number;
  /** How long a client may take to read a response. */
  readonly longestDrainMs: number;
}

export interface ConnectionOptions extends FastPathOptions {
  /** Called for each request. */
  readonly noteUse: () => void;
  /** Whether the connection must be closed after each response. */
  readonly isEnding: () => boolean;
  /** Called when the connection is closed or handed over. */
  readonly onLeave: () => void;
}

export interface FastConnection {
  readonly isAnswering: () => boolean;
  readonly isIdle: () => boolean;
}

export function openConnection(socket: Socket, options: ConnectionOptions): FastConnection {
  const { api, isEnding, keepAliveMs } = options;
  const readRequest = makeRequestReader();
  const drainLimit = makeDrainLimit(socket, options.longestDrainMs);
  const keepAlive = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(keepAliveMs / 1000)}\r\n`;
  let unread: Buffer | undefined;
  let isBusy = false;
  // A response is being sent in pieces.
  let isSendingPieces = false;
  let isAdvancing = false;
  // No further request on this connection is answered.
  let isOver = false;
  let hasAnswered = false;

  const leave = listen(socket, { onData, onDrain, onEnd, onTimeout, onClose });
  socket.setTimeout(options.firstByteMs);

  function onData(chunk: Buffer): void {
    unread = unread === undefined ? chunk : Buffer.concat([unread, chunk]);
    advance();
    // The rest waits until the response under way is sent.
    if (unread !== undefined) socket.pause();
  }

  /** Answers the unread requests in order, as far as possible now. */
  function advance(): void {
    if (isAdvancing || isBusy || unread === undefined) return;
    isAdvancing = true;
    const bytes = unread;
    let at = 0;
    while (at < bytes.length && !isBusy && !isOver && socket.writableLength < MOST_UNSENT) {
      const request = readRequest(bytes, at);
      if (request === undefined) {
        handOver(bytes.subarray(at));
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

  function answer({ target, head }: FastRequest): void {
    isBusy = true;
    options.noteUse();
    const response = makeResponder();
    try {
      api({ method: 'GET', socket, head, target }, response);
    } catch (error) {
      options.onError(error, response);
    }
  }

  function makeResponder(): Responder {
    let isSent = false;
    return {
      isHead: false,
      isSent: () => isSent,
      send(response, headers = '', isLast = false) {
        if (isSent) return;
        isSent = true;
        const isClosing = isLast || isEnding() || isOver;
        const connectionHeaders = isClosing ? 'Connection: close\r\n' : keepAlive;
        writeResponse(socket, response, headers, connectionHeaders);
        finish(isClosing);
      },
      async sendPieces(response, headers = '', isLast = false) {
        if (isSent) return false;
        isSent = true;
        const isClosing = isLast || isEnding() || isOver;
        const connectionHeaders = isClosing ? 'Connection: close\r\n' : keepAlive;
        isSendingPieces = true;
        const isComplete = await writePiecesTo(
          { socket, longestMs: options.longestDrainMs },
          response,
          headers,
          connectionHeaders,
        );
        isSendingPieces = false;
        // The client may have ended its side in the meantime.
        if (isComplete) finish(isClosing || isOver);
        return isComplete;
      },
      destroy() {
        // Requests that the client sent after this one can no longer be answered. They must not count.
        isOver = true;
        socket.destroy();
      },
    };
  }

  /** Called after a response was written: closes the connection or reads the next request. */
  function finish(isClosing: boolean): void {
    if (!hasAnswered) {
      hasAnswered = true;
      socket.setTimeout(keepAliveMs);
    }
    isBusy = false;
    if (isClosing) {
      isOver = true;
      socket.end();
    }
    // The kernel takes most responses at once. Only the others need a timer.
    if (socket.writableLength > 0) drainLimit.start();
    advance();
  }

  function handOver(rest: Buffer): void {
    onClose();
    unread = undefined;
    socket.setTimeout(0);
    // A socket that is already flowing would not emit the bytes that are put back.
    socket.pause();
    socket.unshift(encodeRequestLine(rest));
    options.handOver(socket);
    socket.resume();
  }

  function onDrain(): void {
    // Everything was sent. The next response gets the full time again.
    drainLimit.stop();
    advance();
  }

  function onEnd(): void {
    isOver = true;
    if (!isBusy) socket.end();
  }

  function onTimeout(): void {
    if (isBusy) return;
    if (!hasAnswered) options.onSilence(socket);
    else if (socket.writableLength === 0) socket.destroy();
  }

  function onClose(): void {
    leave();
    drainLimit.stop();
    options.onLeave();
  }

  return {
    // While a client reads a piece, its connection counts as one whose response is written.
    isAnswering: () => isBusy && !(isSendingPieces && socket.writableLength > 0),
    isIdle: () => !isBusy && unread === undefined && socket.writableLength === 0,
  };
}

interface Listeners {
  onData(chunk: Buffer): void;
  onDrain(): void;
  onEnd(): void;
  onTimeout(): void;
  onClose(): void;
}

/** Adds the listeners to a socket. @returns a function that removes them */
function listen(socket: Socket, listeners: Listeners): () => void {
  const { onData, onDrain, onEnd, onTimeout, onClose } = listeners;
  // "close" follows every error; the handler for it does the work.
  const onError = () => {};
  socket.on('data', onData).on('drain', onDrain).on('end', onEnd);
  socket.on('timeout', onTimeout).on('error', onError).on('close', onClose);
  return () => {
    socket.off('data', onData).off('drain', onDrain).off('end', onEnd);
    socket.off('timeout', onTimeout).off('error', onError).off('close', onClose);
  };
}
