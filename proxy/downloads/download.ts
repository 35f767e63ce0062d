/**
 * Makes the response to a download of a file: the whole file, compressed or not, or a range of it. Checks
 * that the file is still the one that was checked when its generation was opened.
 */
import { acceptsGzip, matchesEtag, SMALLEST_COMPRESSED } from '../http/message/negotiation.ts';
import { readRange, type WantedRange } from '../http/message/ranges.ts';
import type { RequestHead } from '../http/message/request-head.ts';
import {
  type HeaderList,
  JSON_TYPE,
  NO_BODY,
  type PreparedResponse,
  prepareError,
  type ResponseInPieces,
  type SharedHead,
} from '../http/message/response.ts';
import { checkStored, readPieces, type StoredFile } from '../snapshot/stored-file.ts';
import { gzipPieces, mayCompress } from './gzip-pieces.ts';

const BINARY_TYPE = 'application/octet-stream';

export interface DownloadRequest {
  readonly stored: StoredFile;
  /** Whether clients may request parts of the file. */
  readonly hasRanges: boolean;
  /** The id of the generation. */
  readonly snapshot: string;
  readonly head: RequestHead;
  /** Whether the client wants only the header fields. */
  readonly isHead: boolean;
}

/**
 * @param common header fields of every response
 * @throws FileGoneError if the file was removed or replaced since it was checked
 */
export function makeDownload(
  { stored, hasRanges, snapshot, head, isHead }: DownloadRequest,
  common: HeaderList,
): PreparedResponse | ResponseInPieces {
  const { size, sha256 } = stored.file;
  const etag = `"${sha256}"`;
  const etags = { identity: etag, gzip: `"${sha256}-gzip"` };
  const isCompressible = size >= SMALLEST_COMPRESSED;
  const fields = [
    ...['X-Snapshot', snapshot, 'Cache-Control', 'private, no-cache'],
    ...['Vary', 'Accept-Encoding', ...common],
  ];
  const { ifNoneMatch } = head;
  if (ifNoneMatch !== undefined) {
    const known = Object.values(etags).find((each) => matchesEtag(ifNoneMatch, each));
    if (known !== undefined) return bodyless(304, [...fields, 'ETag', known]);
  }
  checkStored(stored);
  const range: WantedRange =
    isHead || !hasRanges ? 'whole' : readRange(head.range, head.ifRange, etag, size);
  if (range === 'unsatisfiable') {
    const headers = [...common, 'Content-Range', `bytes */${size}`];
    return prepareError(416, 'Range not satisfiable', headers);
  }
  const typed = [...fields, 'Content-Type', typeOf(stored.file.path)];
  if (hasRanges) typed.push('Accept-Ranges', 'bytes');
  if (range !== 'whole') {
    const { from, to } = range;
    const contentRange = `bytes ${from}-${to - 1}/${size}`;
    const headers = [...typed, 'ETag', etag, 'Content-Range', contentRange];
    return inPieces(206, [...headers, ...lengthOf(to - from)], readPieces(stored, from, to));
  }
  if (isCompressible && acceptsGzip(head.acceptEncoding) && mayCompress()) {
    const headers = [...typed, 'ETag', etags.gzip, 'Content-Encoding', 'gzip'];
    if (isHead) return { head: OK, headers, body: NO_BODY };
    return inPieces(200, headers, gzipPieces(readPieces(stored, 0, size)));
  }
  const headers = [...typed, 'ETag', etag, ...lengthOf(size)];
  if (isHead) return { head: OK, headers, body: NO_BODY };
  return inPieces(200, headers, readPieces(stored, 0, size));
}

const OK: SharedHead = { status: 200, headers: [] };

function lengthOf(bytes: number): string[] {
  return ['Content-Length', String(bytes)];
}

function typeOf(path: string): string {
  return path.endsWith('.json') ? JSON_TYPE : BINARY_TYPE;
}

function bodyless(status: number, headers: HeaderList): PreparedResponse {
  return { head: { status, headers: [] }, headers, body: NO_BODY };
}

function inPieces(
  status: number,
  headers: HeaderList,
  pieces: AsyncIterable<Buffer>,
): ResponseInPieces {
  return { head: { status, headers: [] }, headers, pieces };
}
