/**
 * Single HTTP requests. A server that sends nothing, or next to nothing, does not hold a run:
 * the transfer fails. Counts the bytes of all bodies as they were transferred.
 */
import {
  type ClientRequest,
  Agent as HttpAgent,
  type IncomingMessage,
  request as requestHttp,
} from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { messageOf } from '../../program/failure.ts';
import { TransferError } from './try-again.ts';

/** In bytes. A transfer that is slower than this on average fails, whatever it sends. */
const LEAST_PER_SECOND = 512;

export interface HttpReply {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  /** The bytes as they were sent. Must be read to its end, or ended with `drop`. */
  readonly body: AsyncIterable<Buffer>;
  /** Ends the transfer. */
  drop(): void;
}

/** What is sent besides the address and the header fields. */
export interface SendOptions {
  /** `GET` by default. */
  readonly method?: 'GET' | 'PUT' | 'DELETE';
  /** Must have as many bytes as the field `content-length` says. */
  readonly body?: AsyncIterable<Buffer>;
  /** Ends the request and the reading of its reply. The error is then the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
}

export interface HttpClient {
  /** Sends a request. @throws TransferError if there is no reply, or an error of `body` */
  send(
    url: string,
    headers: Readonly<Record<string, string>>,
    options?: SendOptions,
  ): Promise<HttpReply>;
  /** How many requests were sent. */
  requests(): number;
  /** How many bytes of bodies were received. */
  received(): number;
  /** How many bytes of bodies were sent. */
  sent(): number;
  close(): void;
}

/** Calls `tick` at intervals. @returns a function that ends this */
export type Repeat = (tick: () => void, milliseconds: number) => () => void;

const repeatWithTimer: Repeat = (tick, milliseconds) => {
  const timer = setInterval(tick, milliseconds);
  return () => clearInterval(timer);
};

/** @param stallSeconds a transfer fails after this time without progress */
export function makeHttpClient(
  isTls: boolean,
  stallSeconds: number,
  repeat: Repeat = repeatWithTimer,
): HttpClient {
  const settings = { keepAlive: true, maxFreeSockets: 16 };
  const agent = isTls ? new HttpsAgent(settings) : new HttpAgent(settings);
  const request = isTls ? requestHttps : requestHttp;
  const counts = { requests: 0, received: 0, sent: 0 };

  async function* read(
    response: IncomingMessage,
    watch: StallWatch,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Buffer> {
    try {
      for await (const piece of response as AsyncIterable<Buffer>) {
        counts.received += piece.length;
        watch.note(piece.length);
        // The bytes of a short reply may be here before the request is ended.
        signal?.throwIfAborted();
        yield piece;
      }
    } catch (cause) {
      signal?.throwIfAborted();
      const reason = watch.stalled() ?? `the connection was cut (${messageOf(cause)})`;
      throw new TransferError(reason, { cause });
    } finally {
      watch.stop();
      // An unread rest must not wait for a reader.
      if (!response.readableEnded) response.destroy();
    }
  }

  /** Sends a body, no faster than the connection takes it. */
  async function write(
    outgoing: ClientRequest,
    body: AsyncIterable<Buffer>,
    watch: StallWatch,
  ): Promise<void> {
    for await (const piece of body) {
      if (outgoing.destroyed) return;
      const isTaken = outgoing.write(piece);
      counts.sent += piece.length;
      watch.note(piece.length);
      if (!isTaken) await waitForDrain(outgoing);
    }
    outgoing.end();
  }

  return {
    async send(url, headers, { method = 'GET', body, signal } = {}) {
      signal?.throwIfAborted();
      counts.requests++;
      return new Promise((resolve, reject) => {
        const outgoing = request(url, { agent, headers, method, ...(signal ? { signal } : {}) });
        const watch = watchForStalls(stallSeconds, repeat, () => outgoing.destroy());
        outgoing.once('response', (response) => {
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: read(response, watch, signal),
            drop() {
              watch.stop();
              // This reply has no body, so the connection can be used again. A replica that checks
              // every second would otherwise connect every second.
              if (response.statusCode === 304) response.resume();
              else response.destroy();
            },
          });
        });
        // Not `once`: after the reply to a body that was refused, the connection may break as well.
        outgoing.on('error', (cause) => {
          watch.stop();
          const reason = watch.stalled() ?? messageOf(cause);
          if (signal?.aborted) reject(signal.reason);
          else if (isCertificateError(cause)) reject(certificateError(url, cause));
          else reject(new TransferError(`no reply: ${reason}`, { cause }));
        });
        if (body === undefined) outgoing.end();
        else {
          write(outgoing, body, watch).catch((error) => {
            reject(error);
            outgoing.destroy();
          });
        }
      });
    },
    requests: () => counts.requests,
    received: () => counts.received,
    sent: () => counts.sent,
    close: () => agent.destroy(),
  };
}

/** The names of OpenSSL's verification errors, and Node's for another host name. */
function isCertificateError({ code = '' }: NodeJS.ErrnoException): boolean {
  return /CERT|UNABLE_TO_(?:GET|VERIFY)/.test(code);
}

/** Not a TransferError: another try would find the same certificate. */
function certificateError(url: string, cause: Error): Error {
  return new Error(
    `The certificate of ${new URL(url).host} is not accepted: ${cause.message}. If it belongs to an authority of your own, name that authority's file in NODE_EXTRA_CA_CERTS.`,
    { cause },
  );
}

/** Resolves when more can be written, or when nothing more will be. */
function waitForDrain(outgoing: ClientRequest): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      outgoing.off('drain', done).off('close', done);
      resolve();
    };
    outgoing.on('drain', done).on('close', done);
  });
}

interface StallWatch {
  note(bytes: number): void;
  /** What was wrong, if the transfer has stalled. */
  stalled(): string | undefined;
  stop(): void;
}

function watchForStalls(seconds: number, repeat: Repeat, onStall: () => void): StallWatch {
  let sinceTick = 0;
  let stalled: string | undefined;
  const stop = repeat(() => {
    if (sinceTick < LEAST_PER_SECOND * seconds) {
      stalled = `only ${sinceTick} bytes in ${seconds} s were transferred`;
      onStall();
    }
    sinceTick = 0;
  }, seconds * 1000);
  return {
    note(bytes) {
      sinceTick += bytes;
    },
    stalled: () => stalled,
    stop,
  };
}
