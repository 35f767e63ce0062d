/**
 * HTTP requests to depots, through undici: its time limits end a transfer that stands still. Redirects are
 * not followed, and nothing is tried again here.
 */
import { Readable } from 'node:stream';
import { Agent, type Dispatcher, request } from 'undici';
import { shown } from '../format/json/parse-file.ts';
import { messageOf } from '../program/failure.ts';
import { type Found, RefusedReleaseError, TransferError } from './depot.ts';
import { readWhole } from './transfers.ts';

/** In bytes. */
const LONGEST_ERROR_BODY = 8192;
const CONNECT_MS = 10_000;
/** How long nothing may arrive, or be taken. */
const STALL_MS = 30_000;
/** Smaller pieces let undici note that an upload advances. */
const PIECE = 64 * 1024;

export interface HttpRequest {
  readonly method?: 'GET' | 'PUT' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer | undefined;
  /** What errors call the object; by default its address. */
  readonly what?: string;
  /** The statuses that the caller expects, besides those of success. */
  readonly expected?: readonly number[] | undefined;
}

/** After success, the bytes must be read. */
export interface HttpReply extends Found {
  readonly status: number;
  readonly etag: string | undefined;
}

/** The statuses of a server that does not have an object. */
export const MISSING: readonly number[] = [404, 410];

/** @param name of the depot, for errors */
export function makeHttpClient(name: string, stallMs = STALL_MS) {
  const dispatcher = new Agent({
    headersTimeout: stallMs,
    bodyTimeout: stallMs,
    connect: { timeout: Math.min(stallMs, CONNECT_MS) },
    allowH2: false,
  });
  const closing = new AbortController();
  const { signal } = closing;
  return {
    /** @throws TransferError if another try may help; any other Error says why the server refuses */
    async send(
      url: string,
      { body, headers, method = 'GET', what = url, expected = [] }: HttpRequest = {},
    ): Promise<HttpReply> {
      const fail = (fault: string, cause: unknown) => {
        throw signal.aborted ? signal.reason : failureOf(cause as Error, fault, url);
      };
      const reply = await request(url, {
        dispatcher,
        method,
        headers: { ...headers, ...(body && { 'content-length': String(body.length) }) },
        body: body ? Readable.from(piecesOf(body)) : null,
        signal,
      }).catch((cause) => fail('no reply', cause));
      async function* bytes(): AsyncGenerator<Buffer> {
        try {
          yield* reply.body;
        } catch (cause) {
          fail('the connection was cut', cause);
        }
      }
      const { statusCode: status } = reply;
      const coding = fieldOf(reply, 'content-encoding');
      if (status < 200 || status >= 300) {
        const answer = readWhole({ bytes: bytes() }, LONGEST_ERROR_BODY, what);
        const error = errorOf(what, reply, await answer.then(String, () => ''));
        if (!expected.includes(status) || error.code === 'NoSuchBucket') throw error;
      } else if (coding !== undefined && coding !== 'gzip') {
        void reply.body.dump().catch(() => {});
        throw new RefusedReleaseError(
          `${what} sends another Content-Encoding than it was asked for.`,
        );
      }
      return {
        status,
        etag: fieldOf(reply, 'etag'),
        coding: coding === 'gzip' ? coding : undefined,
        bytes: bytes(),
      };
    },
    close() {
      closing.abort(new Error(`${name} was closed.`));
      void dispatcher.destroy().catch(() => {});
    },
  };
}

function* piecesOf(body: Buffer): Generator<Buffer> {
  for (let at = 0; at < body.length; at += PIECE) yield body.subarray(at, at + PIECE);
}

/** The value of a field; undefined if it is missing. Of several, the first. */
function fieldOf({ headers }: Dispatcher.ResponseData, name: string): string | undefined {
  return [headers[name]].flat()[0];
}

function failureOf(cause: Error, fault: string, url: string): Error {
  // The names of OpenSSL's verification errors, and Node's for another host name. Not a TransferError:
  // another try would find the same certificate.
  if (/CERT|UNABLE_TO_(?:GET|VERIFY)/.test((cause as NodeJS.ErrnoException).code ?? '')) {
    return new Error(
      `The certificate of ${new URL(url).origin} is not accepted: ${cause.message}. If it belongs to an authority of your own, name that authority's file in NODE_EXTRA_CA_CERTS.`,
      { cause },
    );
  }
  return new TransferError(`${fault}: ${messageOf(cause)}`, { cause });
}

/** Codes of S3 with a status below 500 that another try may not meet. */
const PASSING_CODES = ['RequestTimeout', 'IncompleteBody', 'BadDigest', 'OperationAborted'];

/** The error of a reply that refuses a request. One of S3 has a code, such as NoSuchBucket. */
function errorOf(
  what: string,
  reply: Dispatcher.ResponseData,
  body: string,
): Error & { readonly code?: string | undefined } {
  const { statusCode: status } = reply;
  const code = textOf(body, 'Code');
  const reason = code === undefined ? body : `${code}: ${textOf(body, 'Message')}`;
  const answer = `${what} answers ${status}${reason === '' ? '' : ` (${shown(reason)})`}`;
  if (status === 429 || status === 408 || status >= 500 || PASSING_CODES.includes(code ?? '')) {
    const seconds = Number(fieldOf(reply, 'retry-after') ?? Number.NaN);
    return new TransferError(answer, { waitMs: seconds >= 0 ? seconds * 1000 : undefined });
  }
  const advice =
    status >= 300 && status < 400
      ? `It redirects to ${shown(fieldOf(reply, 'location') ?? 'nowhere')}. Redirects are not followed; use that address if it is right.`
      : 'Check the address, and the key or the credentials and what they allow.';
  return Object.assign(new Error(`${answer}. ${advice}`), { code });
}

/** The text of the first element with a name in XML of S3, which has no attributes there. */
export function textOf(xml: string, name: string): string | undefined {
  return new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
}
