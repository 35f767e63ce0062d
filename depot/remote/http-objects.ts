/**
 * Reads objects over HTTP: what web servers and S3 have in common. Makes the reply of a store from the
 * reply of a server, and errors from refusals.
 */
import type { HttpReply } from '../transfer/http-client.ts';
import { TransferError } from '../transfer/try-again.ts';
import { readUpTo } from './content.ts';
import type { GetOptions, RemoteReply } from './remote.ts';

const LONGEST_ERROR_BODY = 8192;
/** In characters. It goes to a terminal or a log. */
const LONGEST_REASON = 200;

/** Sends a GET of one object with further header fields. */
export type SendGet = (headers: Readonly<Record<string, string>>) => Promise<HttpReply>;

/**
 * @param what the address of the object, for errors
 * @throws TransferError if another try may help; any other Error says why the server refuses
 */
export async function readObject(
  what: string,
  { offset: wanted = 0, etag }: GetOptions,
  send: SendGet,
): Promise<RemoteReply> {
  const reply = await send({
    // Objects are stored compressed, and their stored bytes are wanted.
    'accept-encoding': 'identity',
    ...(wanted > 0 ? { range: `bytes=${wanted}-` } : {}),
    ...(etag !== undefined ? { 'if-none-match': etag } : {}),
  });
  const { status, headers, body: bytes, drop } = reply;
  if (status === 200 || status === 206) {
    const found = { status: 'found' as const, etag: headers.etag, bytes, drop };
    if (status === 200) {
      const length = headers['content-length'];
      return { ...found, offset: 0, size: length === undefined ? undefined : Number(length) };
    }
    const [, first, size] = /^bytes (\d+)-\d+\/(\d+)$/.exec(headers['content-range'] ?? '') ?? [];
    if (Number(first) === wanted) return { ...found, offset: wanted, size: Number(size) };
    drop();
    throw new TransferError(
      `${what} sends other bytes than it was asked for: Content-Range ${headers['content-range'] ?? 'is missing'}`,
    );
  }
  if (status === 416 && wanted > 0) {
    drop();
    return readObject(what, {}, send);
  }
  if (status === 304 && etag !== undefined) {
    drop();
    return { status: 'unchanged' };
  }
  const error = await errorOf(what, reply);
  if (status === 404 || status === 410) {
    if (error.code === 'NoSuchBucket') throw error;
    return { status: 'missing' };
  }
  throw error;
}

/** An error of S3 has a code, such as NoSuchBucket. */
export type ServerError = Error & { readonly code?: string | undefined };

/** Codes of S3 with a status below 500 that another try may not meet. */
const PASSING_CODES = ['RequestTimeout', 'IncompleteBody', 'BadDigest', 'OperationAborted'];

/** The error of a reply that refuses a request. Reads the rest of the reply. */
export async function errorOf(what: string, reply: HttpReply): Promise<ServerError> {
  const { status, headers } = reply;
  const body = await readText(reply);
  const [code, message] = [textOf(body, 'Code'), textOf(body, 'Message')].map(printable);
  const reason = [code, message].filter(Boolean).join(': ');
  const answer = `${what} answers ${status}${reason === '' ? '' : ` (${reason})`}`;
  if (status === 429 || status === 408 || status >= 500 || PASSING_CODES.includes(code ?? '')) {
    const seconds = Number(headers['retry-after'] ?? Number.NaN);
    const wait = Number.isNaN(seconds) ? {} : { waitMs: seconds * 1000 };
    return new TransferError(answer, wait);
  }
  return Object.assign(new Error(`${answer}. ${adviceFor(reply, code)}`), { code });
}

function adviceFor({ status, headers }: HttpReply, code: string | undefined): string {
  const region = headers['x-amz-bucket-region'];
  if (code === 'RequestTimeTooSkewed') return 'Correct the clock of this machine.';
  if (code === 'NoSuchBucket') return 'Create the bucket, or correct its name.';
  if (typeof region === 'string' && status !== 403) return `Set AWS_REGION=${printable(region)}.`;
  if (status >= 300 && status < 400) {
    return `It redirects to ${printable(headers.location ?? '') || 'nowhere'}. Redirects are not followed; use that address if it is right.`;
  }
  if (status === 401 || status === 403) {
    return 'Check the credentials, and what they allow.';
  }
  return 'Check the address.';
}

/** The text of the first element with a name in XML of S3, which has no attributes there. */
export function textOf(xml: string, name: string): string | undefined {
  const [, text] = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml) ?? [];
  return text === undefined ? undefined : decodeEntities(text);
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&apos;': "'",
  '&amp;': '&',
};

function decodeEntities(text: string): string {
  return text.replace(/&(?:lt|gt|quot|apos|amp);/g, (entity) => ENTITIES[entity] ?? entity);
}

function printable(text: string | undefined): string | undefined {
  return text?.replace(/[^ -~]/g, '?').slice(0, LONGEST_REASON);
}

async function readText({ body }: HttpReply): Promise<string> {
  try {
    return (await readUpTo(body, LONGEST_ERROR_BODY))?.toString('utf8') ?? '';
  } catch {
    return '';
  }
}
