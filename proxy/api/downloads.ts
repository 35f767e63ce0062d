/**
 * Downloads of the files of a generation: whole, compressed in pieces, or ranges. They share the thread
 * with all other requests, so there is a limit on how many are sent at the same time.
 */
import { pipeline, Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import type { RequestHead } from '../http/request.ts';
import { acceptsGzip, matchesEtag, SMALLEST_COMPRESSED } from '../http/resource.ts';
import {
  type HeaderList,
  JSON_TYPE,
  NO_BODY,
  type PreparedResponse,
  prepareError,
  type ResponseInPieces,
} from '../http/response.ts';
import { checkStored, readPieces } from '../snapshot/stored-file.ts';
import { CACHING, CORS } from './routes/route.ts';
import type { Download } from './routes/snapshot.ts';

const BINARY_TYPE = 'application/octet-stream';

/**
 * Makes the response to a download. Checks that the file is still the one that was checked when its
 * generation was opened.
 * @param isHead whether the client wants only the header fields
 * @throws FileGoneError if the file was removed or replaced since
 */
export function makeDownload(
  { stored, hasRanges, snapshot }: Download,
  { ifNoneMatch, acceptEncoding, ...head }: RequestHead,
  isHead: boolean,
): PreparedResponse | ResponseInPieces {
  const { size, sha256, path } = stored.file;
  const etag = `"${sha256}"`;
  const gzipEtag = `"${sha256}-gzip"`;
  const fields = ['X-Snapshot', snapshot, ...CACHING];
  const known = [etag, gzipEtag].find((each) => ifNoneMatch && matchesEtag(ifNoneMatch, each));
  if (known !== undefined) return withoutBody(304, [...fields, 'ETag', known]);
  checkStored(stored);
  const range: WantedRange =
    isHead || !hasRanges ? 'whole' : readRange(head.range, head.ifRange, etag, size);
  if (range === 'unsatisfiable') {
    const headers = [...CORS, 'Content-Range', `bytes */${size}`];
    return prepareError(416, 'Range not satisfiable', headers);
  }
  fields.push('Content-Type', path.endsWith('.json') ? JSON_TYPE : BINARY_TYPE);
  if (hasRanges) fields.push('Accept-Ranges', 'bytes');
  if (range !== 'whole') {
    const { from, to } = range;
    fields.push('ETag', etag, 'Content-Range', `bytes ${from}-${to - 1}/${size}`);
    fields.push('Content-Length', String(to - from));
    return {
      head: { status: 206, headers: fields },
      headers: [],
      pieces: readPieces(stored, from, to),
    };
  }
  const isCompressed = size >= SMALLEST_COMPRESSED && acceptsGzip(acceptEncoding) && mayCompress();
  // The size of what is compressed in pieces is not known before.
  if (isCompressed) fields.push('ETag', gzipEtag, 'Content-Encoding', 'gzip');
  else fields.push('ETag', etag, 'Content-Length', String(size));
  if (isHead) return withoutBody(200, fields);
  const pieces = readPieces(stored, 0, size);
  const sent = isCompressed ? gzipPieces(pieces) : pieces;
  return { head: { status: 200, headers: fields }, headers: [], pieces: sent };
}

function withoutBody(status: number, headers: HeaderList): PreparedResponse {
  return { head: { status, headers }, headers: [], body: NO_BODY };
}

// Single byte ranges (RFC 9110, sections 13.1.5 and 14).

/** The part of a body that is wanted. */
export type WantedRange =
  | 'whole'
  | 'unsatisfiable'
  | {
      readonly from: number;
      /** Exclusive. */
      readonly to: number;
    };

/**
 * A field that is malformed or names several ranges counts as absent: a server may always answer with
 * the whole body.
 * @param etag the ETag of the body as it is, without compression
 * @param size of the body, in bytes
 */
export function readRange(
  range: string | undefined,
  ifRange: string | undefined,
  etag: string,
  size: number,
): WantedRange {
  const [, first, last] = /^bytes=[ \t]*(\d{0,15})-(\d{0,15})$/i.exec(range?.trim() ?? '') ?? [];
  if (first === undefined || last === undefined || first + last === '') return 'whole';
  // Also if it is a date: only an ETag proves that the parts fit together.
  if (ifRange !== undefined && ifRange !== etag) return 'whole';
  if (first === '') {
    const length = Math.min(size, Number(last));
    return length === 0 ? 'unsatisfiable' : { from: size - length, to: size };
  }
  if (last !== '' && Number(last) < Number(first)) return 'whole';
  if (Number(first) >= size) return 'unsatisfiable';
  return { from: Number(first), to: last === '' ? size : Math.min(size, Number(last) + 1) };
}

// Compression.

const MOST_COMPRESSING = 4;
/**
 * A catalogue of 148,000 games takes 12 % more bytes than with the default level 6, in half of the
 * CPU time.
 */
const LEVEL = 1;
const OUTPUT_BYTES = 64 * 1024;

let compressing = 0;

/** Whether a further body may be compressed now: it takes CPU time from everything else. */
export function mayCompress(): boolean {
  return compressing < MOST_COMPRESSING;
}

/** Compresses off this thread. */
export async function* gzipPieces(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  compressing++;
  const gzip = createGzip({ level: LEVEL, chunkSize: OUTPUT_BYTES });
  // An error of a piece is thrown below. If the client leaves, the file is closed.
  pipeline(Readable.from(pieces), gzip, () => {});
  try {
    yield* gzip;
  } finally {
    compressing--;
  }
}

// How many.

/** Per thread, of all keys together. Each has a descriptor and, if its client is slow, a connection. */
const MOST_DOWNLOADS = 100;
/** A replica has a few downloads at a time, and two of them may share a key. */
const MOST_PER_KEY = 8;

/** Counts the downloads of one thread. */
export function makeDownloadSlots() {
  /** How many downloads each key has. It contains only keys with at least one. */
  const taken = new Map<string, number>();
  let total = 0;
  return {
    /** @returns whether the key may begin a download. Then its end must be told to `free`. */
    take(key: string): boolean {
      const own = taken.get(key) ?? 0;
      if (own >= MOST_PER_KEY || total >= MOST_DOWNLOADS) return false;
      taken.set(key, own + 1);
      total++;
      return true;
    },
    free(key: string): void {
      total--;
      const left = (taken.get(key) ?? 0) - 1;
      if (left > 0) taken.set(key, left);
      else taken.delete(key);
    },
  };
}
