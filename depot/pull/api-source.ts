/**
 * Pulls from the API of another installation: `GET /snapshot` and `GET /snapshot/files/{path}`, with an
 * API key. Requests wait while the key is over its limit.
 */
import { createGunzip } from 'node:zlib';
import { LARGEST_MANIFEST, type ManifestFile } from '../../format/manifest.ts';
import { readUpTo } from '../remote/content.ts';
import { type Clock, systemClock } from '../transfer/clock.ts';
import { type HttpReply, makeHttpClient } from '../transfer/http-client.ts';
import { TransferError } from '../transfer/try-again.ts';
import { decode } from './decode.ts';
import { type Delivery, GoneError, PullRefusedError, type Source, type Wanted } from './source.ts';

const LONGEST_ERROR_BODY = 4096;

export interface ApiSourceOptions {
  /** The address of the API with its base, such as https://api.example.org/api/v1. */
  readonly url: string;
  readonly key: string;
  /** A transfer fails after this time without progress. */
  readonly stallSeconds: number;
  readonly clock?: Clock;
}

export function openApiSource({
  url,
  key,
  stallSeconds,
  clock = systemClock,
}: ApiSourceOptions): Source {
  const client = makeHttpClient(url.startsWith('https:'), stallSeconds);
  let waitsUntil = 0;
  let isClosed = false;

  /** Sends a request, once the key is within its limit. */
  async function get(target: string, headers: Record<string, string>): Promise<HttpReply> {
    await waitForLimit();
    if (isClosed) throw new Error('The pull has ended.');
    const reply = await client.send(url + target, { authorization: `Bearer ${key}`, ...headers });
    if ([200, 206, 304, 416].includes(reply.status)) return reply;
    throw await errorOf(reply, target);
  }

  async function waitForLimit(): Promise<void> {
    for (let rest = waitsUntil - clock.now(); rest > 0; rest = waitsUntil - clock.now()) {
      await clock.pause(rest);
    }
  }

  async function errorOf(reply: HttpReply, target: string): Promise<Error> {
    const { status, headers } = reply;
    const text = await readErrorText(reply);
    const answer = `${url}${target} answers ${status}${text === '' ? '' : ` (${text})`}`;
    if (status === 429 || status >= 500) {
      const seconds = Number(headers['retry-after'] ?? Number.NaN);
      if (Number.isNaN(seconds)) return new TransferError(answer);
      const error = new TransferError(answer, { waitMs: seconds * 1000 });
      // All transfers have the same key, so the others would also be refused.
      if (status === 429) waitsUntil = Math.max(waitsUntil, clock.now() + (error.waitMs ?? 0));
      return error;
    }
    if (status === 401) return new Error(`${answer}. Check the API key.`);
    if (status === 412) {
      return new GoneError(`${url} has replaced this generation (412).`);
    }
    if (status === 404 && target === '/snapshot') {
      return new Error(
        `${answer}. Check the address, which ends with /api/v1; or the server does not offer mirrors.`,
      );
    }
    if (status >= 300 && status < 400) {
      return new Error(
        `${answer}: it redirects to ${headers.location ?? 'nowhere'}. Redirects are not followed; use that address if it is right.`,
      );
    }
    return new Error(answer);
  }

  async function file(
    id: string,
    wanted: ManifestFile,
    { offset }: Pick<Wanted, 'offset'>,
  ): Promise<Delivery> {
    const which =
      offset > 0
        ? { range: `bytes=${offset}-`, 'if-range': `"${wanted.sha256}"` }
        : { 'accept-encoding': 'gzip' };
    const reply = await get(`/snapshot/files/${wanted.path}`, { 'x-snapshot': id, ...which });
    if (reply.status !== 416 || offset === 0) return deliver(reply, offset);
    // The file at the source ends before the part does. The whole file shows what is wrong.
    reply.drop();
    return file(id, wanted, { offset: 0 });
  }

  return {
    name: url,
    canAdvance: true,
    async manifest(known) {
      const reply = await get('/snapshot', {
        'accept-encoding': 'gzip',
        ...(known === undefined ? {} : { 'if-none-match': `"${known}", "${known}-gzip"` }),
      });
      if (reply.status === 304) {
        reply.drop();
        return undefined;
      }
      return readWhole(deliver(reply, 0).bytes, url);
    },
    file,
    received: client.received,
    close() {
      isClosed = true;
      client.close();
    },
  };
}

/** @throws TransferError if the reply does not fit the request */
function deliver(reply: HttpReply, offset: number): Delivery {
  const { status, headers, body } = reply;
  const coding = headers['content-encoding'];
  if (status === 206) {
    const [, first] = /^bytes (\d+)-\d+\/\d+$/.exec(headers['content-range'] ?? '') ?? [];
    if (Number(first) === offset && offset > 0 && coding === undefined) {
      return { offset, isDelta: false, bytes: body };
    }
  } else if (status === 200) {
    if (coding === 'gzip') {
      return { offset: 0, isDelta: false, bytes: decode(body, createGunzip()) };
    }
    if (coding === undefined) return { offset: 0, isDelta: false, bytes: body };
  }
  reply.drop();
  throw new TransferError(
    `unexpected reply: status ${status}, Content-Encoding ${coding ?? 'none'}, Content-Range ${headers['content-range'] ?? 'none'}`,
  );
}

async function readErrorText({ body }: HttpReply): Promise<string> {
  try {
    const bytes = await readUpTo(body, LONGEST_ERROR_BODY);
    const { error } = JSON.parse(bytes?.toString('utf8') ?? '') as { error?: unknown };
    // Only printable text: it goes to the terminal of the operator.
    return typeof error === 'string' ? error.replace(/[^ -~]/g, '?').slice(0, 200) : '';
  } catch {
    return '';
  }
}

async function readWhole(body: AsyncIterable<Buffer>, name: string): Promise<Buffer> {
  const bytes = await readUpTo(body, LARGEST_MANIFEST);
  if (bytes !== undefined) return bytes;
  throw new PullRefusedError(`The manifest of ${name} is larger than ${LARGEST_MANIFEST} bytes.`);
}
