/**
 * Single HTTP requests. A server that sends nothing, or next to nothing, does not hold a run:
 * the transfer fails. Counts the bytes of all bodies as they were sent.
 */
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http';
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

export interface HttpClient {
  /** Sends a GET. @throws TransferError if there is no reply */
  get(url: string, headers: Readonly<Record<string, string>>): Promise<HttpReply>;
  /** How many bytes of bodies were received. */
  received(): number;
  close(): void;
}

/** @param stallSeconds a transfer fails after this time without progress */
export function makeHttpClient(isTls: boolean, stallSeconds: number): HttpClient {
  const settings = { keepAlive: true, maxFreeSockets: 16 };
  const agent = isTls ? new HttpsAgent(settings) : new HttpAgent(settings);
  const request = isTls ? requestHttps : requestHttp;
  let received = 0;

  async function* read(response: IncomingMessage, watch: StallWatch): AsyncGenerator<Buffer> {
    try {
      for await (const piece of response as AsyncIterable<Buffer>) {
        received += piece.length;
        watch.note(piece.length);
        yield piece;
      }
    } catch (cause) {
      const reason = watch.stalled() ?? `the connection was cut (${messageOf(cause)})`;
      throw new TransferError(reason, { cause });
    } finally {
      watch.stop();
      // An unread rest must not wait for a reader.
      if (!response.readableEnded) response.destroy();
    }
  }

  return {
    get(url, headers) {
      return new Promise((resolve, reject) => {
        const outgoing = request(url, { agent, headers });
        const watch = watchForStalls(stallSeconds, () => outgoing.destroy());
        outgoing.once('response', (response) => {
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: read(response, watch),
            drop() {
              watch.stop();
              response.destroy();
            },
          });
        });
        outgoing.once('error', (cause) => {
          watch.stop();
          const reason = watch.stalled() ?? messageOf(cause);
          reject(new TransferError(`no reply: ${reason}`, { cause }));
        });
        outgoing.end();
      });
    },
    received: () => received,
    close: () => agent.destroy(),
  };
}

interface StallWatch {
  note(bytes: number): void;
  /** What was wrong, if the transfer has stalled. */
  stalled(): string | undefined;
  stop(): void;
}

function watchForStalls(seconds: number, onStall: () => void): StallWatch {
  let sinceTick = 0;
  let stalled: string | undefined;
  const timer = setInterval(() => {
    if (sinceTick < LEAST_PER_SECOND * seconds) {
      stalled = `the server sent ${sinceTick} bytes in ${seconds} s`;
      onStall();
    }
    sinceTick = 0;
  }, seconds * 1000);
  return {
    note(bytes) {
      sinceTick += bytes;
    },
    stalled: () => stalled,
    stop: () => clearInterval(timer),
  };
}
