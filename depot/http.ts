/**
 * HTTP requests to depots, through undici: its time limits end a transfer that stands still. Redirects are
 * not followed, and nothing is tried again here.
 */
import { Readable } from 'node:stream';
import { Agent, type Dispatcher, request } from 'undici';
import { shown } from '../lib/format/json/parse-file.ts';
import { messageOf } from '../lib/program/failure.ts';
import { codingOf, TransferError, type TransferredObject } from './depot.ts';
import { longestMs, readWhole, STALL_MS, systemClock } from './transfers.ts';

/** In bytes. */
const LONGEST_ERROR_BODY = 8192;
const CONNECT_MS = 10_000;
/** Such as 103. Each of them begins the time limit again, so a reply could be announced for ever. */
const MOST_INTERIM = 10;
/** However long the other side asks to wait. */
const LONGEST_WAIT_MS = 90_000;
/** Smaller pieces let undici note that an upload advances. */
const PIECE = 64 * 1024;

export interface HttpRequest {
  readonly method?: 'GET' | 'PUT' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer | undefined;
  /** The statuses that are not errors, but mean that there is nothing to read; by default {@link MISSING}. */
  readonly empty?: readonly number[];
}

export interface HttpReply extends TransferredObject {
  readonly etag: string | undefined;
}

/** The statuses of a server that does not have an object. */
export const MISSING: readonly number[] = [404, 410];

/** @param stallMs how long nothing may arrive, or be taken */
export function makeHttpClient(stallMs = STALL_MS, clock = systemClock) {
  const dispatcher = new Agent({
    headersTimeout: stallMs,
    bodyTimeout: stallMs,
    connect: { timeout: Math.min(stallMs, CONNECT_MS) },
    allowH2: false,
  });
  const closing = new AbortController();
  const { signal } = closing;

  const failWith = (fault: string) => (cause: unknown) => {
    if (signal.aborted) throw signal.reason;
    throw new TransferError(`${fault}: ${messageOf(cause)}`, { cause });
  };
  async function* bytesOf({ body }: Dispatcher.ResponseData): AsyncGenerator<Buffer> {
    try {
      yield* body;
    } catch (cause) {
      failWith('the connection was cut')(cause);
    }
  }

  return {
    /**
     * @returns the reply, whose bytes must be read; undefined if its status is one of `empty`
     * @throws TransferError if another try may help; any other Error says why the server refuses
     */
    async send(
      url: string,
      { body, headers, method = 'GET', empty = MISSING }: HttpRequest = {},
    ): Promise<HttpReply | undefined> {
      let interim = 0;
      const reply = await request(url, {
        dispatcher,
        method,
        headers: { ...headers, ...(body && { 'content-length': String(body.length) }) },
        body: body ? Readable.from(piecesOf(body, clock.now)) : null,
        signal,
        onInfo() {
          if (++interim > MOST_INTERIM) throw new Error('it was only announced');
        },
      }).catch(failWith('no reply'));
      const { statusCode: status } = reply;
      const bytes = bytesOf(reply);
      if (status < 200 || status >= 300) {
        const text = await readWhole({ bytes }, LONGEST_ERROR_BODY, url).then(String, () => '');
        if (empty.includes(status) && !text.includes('NoSuchBucket')) return undefined;
        throw errorOf(url, reply, text);
      }
      const coding = fieldOf(reply, 'content-encoding') === 'gzip' ? 'gzip' : undefined;
      return { etag: fieldOf(reply, 'etag'), coding, bytes };
    },
    close(reason = 'The depot was closed.') {
      closing.abort(new Error(reason));
      void dispatcher.destroy().catch(() => {});
    },
  };
}

/** @returns a reply as the object with a path, whose name says how it is compressed if the reply does not */
export function asObject(
  path: string,
  reply: HttpReply | undefined,
): TransferredObject | undefined {
  return reply && { ...reply, coding: reply.coding ?? codingOf(path) };
}

/** @throws TransferError if they are not taken in time */
function* piecesOf(body: Buffer, now: () => number): Generator<Buffer> {
  const end = now() + longestMs(body.length);
  for (let at = 0; at < body.length; at += PIECE) {
    if (now() > end) throw new TransferError('the other side takes the bytes too slowly');
    yield body.subarray(at, at + PIECE);
  }
}

/** The value of a field; undefined if it is missing. Of several, the first. */
function fieldOf({ headers }: Dispatcher.ResponseData, name: string): string | undefined {
  return [headers[name]].flat()[0];
}

/** The error of a reply that refuses a request. One of S3 has a code, such as NoSuchBucket. */
function errorOf(url: string, reply: Dispatcher.ResponseData, body: string): Error {
  const { statusCode: status } = reply;
  const reason = elementText(body, 'Code') ?? body;
  const answer = `${url} answers ${status}${reason === '' ? '' : ` (${shown(reason)})`}`;
  if (status === 429 || status === 408 || status >= 500) {
    const waitMs = Math.min(Number(fieldOf(reply, 'retry-after')) * 1000, LONGEST_WAIT_MS);
    return Object.assign(new TransferError(answer), waitMs >= 0 && { waitMs });
  }
  const location = fieldOf(reply, 'location');
  const redirect = location && ` and redirects to ${shown(location)}, which is not followed`;
  const advice = 'Check the address, and the key or the credentials and what they allow.';
  return new Error(`${answer}${redirect ?? ''}. ${advice}`);
}

/** The text of the first element with a name in XML of S3, which has no attributes there. */
export function elementText(xml: string, name: string): string | undefined {
  return new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
}
