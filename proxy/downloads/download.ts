/**
 * Makes the response to a download of a file: the whole file, compressed or not, a range of it, or a
 * delta of it for a version that the client has. Checks that the file is still the one that was checked
 * when its generation was opened.
 */
import { accepts, matchesEtag, SMALLEST_COMPRESSED } from '../http/message/negotiation.ts';
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
import type { FindDelta } from './deltas.ts';
import { gzipPieces, mayCompress } from './gzip-pieces.ts';

const BINARY_TYPE = 'application/octet-stream';
const FOR_NAMED_SNAPSHOT = 'private, max-age=31536000, immutable';
const FOR_ANY_SNAPSHOT = 'private, no-cache';

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

export interface DownloadParts {
  readonly findDelta: FindDelta;
  /** Header fields of every response. */
  readonly common: HeaderList;
}

/** @throws PackGoneError if the file was removed or replaced since it was checked */
export async function makeDownload(
  request: DownloadRequest,
  parts: DownloadParts,
): Promise<PreparedResponse | ResponseInPieces> {
  const { stored, hasRanges, head, isHead } = request;
  const { size, sha256 } = stored.file;
  const etag = `"${sha256}"`;
  const etags = { identity: etag, gzip: `"${sha256}-gzip"` };
  const isCompressible = size >= SMALLEST_COMPRESSED;
  const fields = fieldsOf(request, parts.common);
  const { ifNoneMatch } = head;
  if (ifNoneMatch !== undefined) {
    const known = Object.values(etags).find((each) => matchesEtag(ifNoneMatch, each));
    if (known !== undefined) return bodyless(304, [...fields, 'ETag', known]);
  }
  checkStored(stored);
  const range: WantedRange =
    isHead || !hasRanges ? 'whole' : readRange(head.range, head.ifRange, etag, size);
  if (range === 'unsatisfiable') {
    const headers = [...parts.common, 'Content-Range', `bytes */${size}`];
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
  const dictionary = dictionaryOf(head);
  if (dictionary !== undefined && isCompressible && !isHead) {
    const delta = await parts.findDelta(stored, dictionary);
    if (delta !== undefined) {
      const headers = [...typed, 'ETag', `"${sha256}-dcz-${dictionary.slice(0, 16)}"`];
      headers.push('Content-Encoding', 'dcz', ...lengthOf(delta.length));
      return { head: OK, headers, body: delta };
    }
  }
  if (isCompressible && accepts(head.acceptEncoding, 'gzip') && mayCompress()) {
    const headers = [...typed, 'ETag', etags.gzip, 'Content-Encoding', 'gzip'];
    if (isHead) return { head: OK, headers, body: NO_BODY };
    return inPieces(200, headers, gzipPieces(readPieces(stored, 0, size)));
  }
  const headers = [...typed, 'ETag', etag, ...lengthOf(size)];
  if (isHead) return { head: OK, headers, body: NO_BODY };
  return inPieces(200, headers, readPieces(stored, 0, size));
}

const OK: SharedHead = { status: 200, headers: [] };

function fieldsOf({ head, snapshot }: DownloadRequest, common: HeaderList): string[] {
  return [
    ...['X-Snapshot', snapshot],
    ...['Cache-Control', head.snapshot === undefined ? FOR_ANY_SNAPSHOT : FOR_NAMED_SNAPSHOT],
    ...['Vary', 'Accept-Encoding, Available-Dictionary, X-Snapshot', ...common],
  ];
}

function lengthOf(bytes: number): string[] {
  return ['Content-Length', String(bytes)];
}

function typeOf(path: string): string {
  return path.endsWith('.json') ? JSON_TYPE : BINARY_TYPE;
}

/** The SHA-256 of the dictionary that the client names, in hex, if it also accepts "dcz". */
function dictionaryOf({ availableDictionary, acceptEncoding }: RequestHead): string | undefined {
  if (availableDictionary === undefined || !accepts(acceptEncoding, 'dcz')) return undefined;
  // A structured field of bytes (RFC 9651): base64 between colons.
  const [, base64] = /^:([A-Za-z0-9+/]{43}=):$/.exec(availableDictionary.trim()) ?? [];
  return base64 === undefined ? undefined : Buffer.from(base64, 'base64').toString('hex');
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
