/**
 * HTTP requests to depots, through undici: its time limits end a transfer that stands still. Redirects are
 * not followed, and nothing is tried again here.
 */
import { Readable } from 'node:stream';
import { Agent, request } from 'undici';
import { shown } from '../format/json/parse-file.ts';
import { messageOf } from '../program/failure.ts';
import { type Found, TransferError } from './depot.ts';
import { readWhole } from './transfers.ts';

/** In bytes. */
const LONGEST_ERROR_BODY = 8192;
const CONNECT_MS = 10_000;
/** How long nothing may arrive, or be taken. */
const STALL_MS = 30_000;
/** Smaller pieces let undici note that an upload advances. */
const PIECE = 64 * 1024;

export interface HttpReply {
  readonly status: number;
  /** The value of a field; undefined if it is missing. Of several, the first. */
  header(name: string): string | undefined;
  /** The bytes as they were sent. Must be read to their end, or dropped. */
  readonly bytes: AsyncIterable<Buffer>;
  /** Reads the rest of a short body, so that the connection is used again; ends that of a long one. */
  drop(): void;
}

export interface HttpRequest {
  readonly method?: 'GET' | 'PUT' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** @param name of the depot, for errors */
export function makeHttpClient(name: string, stallMs = STALL_MS) {
  const dispatcher = new Agent({
    headersTimeout: stallMs,
    bodyTimeout: stallMs,
    connect: { timeout: Math.min(stallMs, CONNECT_MS) },
    allowH2: false,
  });
  const closed = new AbortController();
  return {
    /** @throws TransferError if there is no reply */
    async send(
      url: string,
      { body, headers, signal, method = 'GET' }: HttpRequest,
    ): Promise<HttpReply> {
      const ending = AbortSignal.any([closed.signal, ...(signal ? [signal] : [])]);
      const fail = (what: string, cause: unknown) => {
        throw failureOf(cause as Error, ending, what, url);
      };
      const reply = await request(url, {
        dispatcher,
        method,
        headers: { ...headers, ...(body && { 'content-length': String(body.length) }) },
        body: body ? Readable.from(piecesOf(body)) : null,
        signal: ending,
      }).catch((cause) => fail('no reply', cause));
      async function* bytes(): AsyncGenerator<Buffer> {
        try {
          yield* reply.body;
        } catch (cause) {
          fail('the connection was cut', cause);
        }
      }
      return {
        status: reply.statusCode,
        header: (field) => [reply.headers[field]].flat()[0],
        bytes: bytes(),
        drop: () => void reply.body.dump().catch(() => {}),
      };
    },
    close() {
      closed.abort(new Error(`${name} was closed.`));
      void dispatcher.destroy().catch(() => {});
    },
  };
}

function* piecesOf(body: Buffer): Generator<Buffer> {
  for (let at = 0; at < body.length; at += PIECE) yield body.subarray(at, at + PIECE);
}

function failureOf(cause: Error, signal: AbortSignal, what: string, url: string): unknown {
  if (signal.aborted) return signal.reason;
  // The names of OpenSSL's verification errors, and Node's for another host name. Not a TransferError:
  // another try would find the same certificate.
  if (/CERT|UNABLE_TO_(?:GET|VERIFY)/.test((cause as NodeJS.ErrnoException).code ?? '')) {
    return new Error(
      `The certificate of ${new URL(url).origin} is not accepted: ${cause.message}. If it belongs to an authority of your own, name that authority's file in NODE_EXTRA_CA_CERTS.`,
      { cause },
    );
  }
  return new TransferError(`${what}: ${messageOf(cause)}`, { cause });
}

/**
 * Makes the reply of a depot from the reply to a GET.
 * @param what the address of the object, for errors
 * @throws TransferError if another try may help; any other Error says why the server refuses
 */
export async function foundIn(
  what: string,
  reply: HttpReply,
  coding: Found['coding'],
): Promise<Found | undefined> {
  const { status, bytes } = reply;
  if (status === 200) return { coding, bytes };
  const error = await errorOf(what, reply);
  if ((status === 404 || status === 410) && error.code !== 'NoSuchBucket') return undefined;
  throw error;
}

/** An error of S3 has a code, such as NoSuchBucket. */
type ServerError = Error & { readonly code?: string | undefined };

/** Codes of S3 with a status below 500 that another try may not meet. */
const PASSING_CODES = ['RequestTimeout', 'IncompleteBody', 'BadDigest', 'OperationAborted'];

/** The error of a reply that refuses a request. Reads the rest of the reply. */
export async function errorOf(what: string, reply: HttpReply): Promise<ServerError> {
  const { status } = reply;
  const body = await readWhole(reply, LONGEST_ERROR_BODY, what).then(String, () => '');
  const code = textOf(body, 'Code');
  const reason = code === undefined ? body : `${code}: ${textOf(body, 'Message')}`;
  const answer = `${what} answers ${status}${reason === '' ? '' : ` (${shown(reason)})`}`;
  if (status === 429 || status === 408 || status >= 500 || PASSING_CODES.includes(code ?? '')) {
    const seconds = Number(reply.header('retry-after') ?? Number.NaN);
    return new TransferError(answer, { waitMs: seconds >= 0 ? seconds * 1000 : undefined });
  }
  return Object.assign(new Error(`${answer}. ${adviceFor(reply)}`), { code });
}

function adviceFor({ status, header }: HttpReply): string {
  const region = header('x-amz-bucket-region');
  if (region !== undefined && status !== 403) return `Set AWS_REGION to ${shown(region)}.`;
  if (status >= 300 && status < 400) {
    return `It redirects to ${shown(header('location') ?? 'nowhere')}. Redirects are not followed; use that address if it is right.`;
  }
  return 'Check the address, and the key or the credentials and what they allow.';
}

/** The text of the first element with a name in XML of S3, which has no attributes there. */
export function textOf(xml: string, name: string): string | undefined {
  return new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
}
