/**
 * Downloads of a generation, file by file or as one archive: whole, compressed in pieces, or ranges. They share the thread
 * with all other requests, so there is a limit on how many are sent at the same time, by key.
 */
import { pipeline, Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import type { RequestHead } from '../http/request.ts';
import { acceptsGzip, matchesEtag } from '../http/resource.ts';
import {
  headerLines,
  NO_BODY,
  type PreparedResponse,
  prepareError,
  type ResponseInPieces,
} from '../http/response.ts';
import { CACHING, CORS } from './routes/route.ts';
import type { Download } from './routes/snapshot.ts';

/**
 * How many files a thread sends at the same time, and how many manifests. All of them may have to be compressed,
 * on four threads of Node that also read files and compress other responses: with more downloads, those
 * would wait too long.
 */
export const MOST_DOWNLOADS = 40;

/** A time as HTTP writes it; without asctime's form, which has no time zone. Other times are ignored. */
const HTTP_DATE =
  /^[A-Z][a-z]+, \d\d(?: [A-Z][a-z]{2} \d{4}|-[A-Z][a-z]{2}-\d\d) \d\d:\d\d:\d\d GMT$/;

/**
 * Makes the response to a download.
 * @param isHead whether the client wants only the header fields
 */
export function makeDownload(
  download: Download,
  { ifNoneMatch, ifModifiedSince, acceptEncoding, ...head }: RequestHead,
  isHead: boolean,
): PreparedResponse | ResponseInPieces {
  const { size, hasRanges, changedAt = '' } = download;
  const etag = `"${download.etag}"`;
  const gzipEtag = `"${download.etag}-gzip"`;
  let shared = `X-Snapshot: ${download.stored.manifest.id}\r\n${CACHING}`;
  if (changedAt !== '') shared += `Last-Modified: ${new Date(changedAt).toUTCString()}\r\n`;
  // RFC 9110, section 13.1.3: with If-None-Match, the time does not count. Nor does one that is still to come: it is
  // from a clock that was wrong, so it says nothing about later bytes.
  const since = ifNoneMatch === undefined ? (HTTP_DATE.exec(ifModifiedSince ?? '')?.[0] ?? '') : '';
  const isOld = Date.parse(changedAt) <= Date.parse(since) && Date.parse(since) <= Date.now();
  const known = isOld
    ? etag
    : [etag, gzipEtag].find((each) => ifNoneMatch && matchesEtag(ifNoneMatch, each));
  if (known !== undefined) {
    return { status: 304, headers: `${shared}ETag: ${known}\r\n`, body: NO_BODY };
  }
  const range: WantedRange =
    isHead || !hasRanges ? 'whole' : readRange(head.range, head.ifRange, etag, size);
  if (range === 'unsatisfiable') {
    const headers = `${CORS}Content-Range: bytes */${size}\r\n`;
    return prepareError(416, 'Range not satisfiable', headers);
  }
  const fields = [`Content-Type: ${download.type}`];
  if (hasRanges) fields.push('Accept-Ranges: bytes');
  if (range !== 'whole') {
    const { from, to } = range;
    fields.push(`ETag: ${etag}`, `Content-Range: bytes ${from}-${to - 1}/${size}`);
    fields.push(`Content-Length: ${to - from}`);
    const headers = shared + headerLines(...fields);
    return { status: 206, headers, pieces: download.read(from, to) };
  }
  const isCompressed = download.isCompressible && acceptsGzip(acceptEncoding);
  // The size of what is compressed in pieces is not known before.
  if (isCompressed) fields.push(`ETag: ${gzipEtag}`, 'Content-Encoding: gzip');
  else fields.push(`ETag: ${etag}`, `Content-Length: ${size}`);
  const headers = shared + headerLines(...fields);
  if (isHead) return { status: 200, headers, body: NO_BODY };
  const pieces = download.read(0, size);
  return { status: 200, headers, pieces: isCompressed ? gzipPieces(pieces) : pieces };
}

// Single byte ranges (RFC 9110, sections 13.1.5 and 14).

/** The part of a body that is wanted. */
type WantedRange =
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
  const [, first, last] = /^bytes=[ \t]*(\d*)-(\d*)$/i.exec(range?.trim() ?? '') ?? [];
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

/** Whether a client has the beginning of a body, and requests the rest. */
export function isResumed({ etag, size }: Download, { range, ifRange }: RequestHead): boolean {
  if (ifRange !== `"${etag}"`) return false;
  const wanted = readRange(range, ifRange, ifRange, size);
  return wanted === 'unsatisfiable' || (wanted !== 'whole' && wanted.from > 0);
}

// Compression.

/**
 * A catalogue of 148,000 games takes 12 % more bytes than with the default level 6, in half of the
 * CPU time.
 */
const LEVEL = 1;
const OUTPUT_BYTES = 64 * 1024;

/** Compresses off this thread. */
export async function* gzipPieces(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const gzip = createGzip({ level: LEVEL, chunkSize: OUTPUT_BYTES });
  // An error of a piece is thrown below. If the client leaves, the file is closed.
  pipeline(Readable.from(pieces), gzip, () => {});
  yield* gzip;
}
