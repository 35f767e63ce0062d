/** Sends pages of the explorer, compressed, with their security headers, or 304 if the client has them. */
import type { ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { hashBytes, hexOf } from '../../format/content-hash.ts';
import { chooseCoding, matchesEtag, SMALLEST_COMPRESSED } from '../http/message/negotiation.ts';
import type { RequestHead } from '../http/message/request-head.ts';
import { type HeaderList, NO_BODY } from '../http/message/response.ts';
import { toResponder } from '../http/node-response.ts';
import { HTML, pageHeaders } from '../site/page-policies.ts';
import type { RenderedPage } from './pages/page.ts';

// Compression runs in Node's thread pool, so that it does not delay the API. At this level, a page takes 1 ms.
const compress = {
  gzip: (bytes: Buffer) => promisify(gzip)(bytes),
  br: (bytes: Buffer) =>
    promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
};

export async function sendPage(
  response: ServerResponse,
  head: RequestHead,
  { status, page, imageOrigin = '', headers = [] }: RenderedPage,
): Promise<void> {
  const plain = Buffer.from(String(page));
  const coding =
    plain.length < SMALLEST_COMPRESSED ? 'identity' : chooseCoding(head.acceptEncoding);
  const etag = `"${hexOf(hashBytes(plain))}-${coding}"`;
  const shared = [
    ...pageHeaders(HTML, policy(imageOrigin)),
    // Two visitors with keys of their own may see different pages at one address.
    ...['Cache-Control', status === 200 ? 'private, no-cache' : 'no-store'],
    ...['Vary', 'Accept-Encoding, Authorization, X-Api-Key', ...headers],
  ];
  const { send } = toResponder(response);
  if (status !== 200) {
    send({ head: { status, headers: shared }, headers: lengthOf(plain), body: plain });
    return;
  }
  shared.push('ETag', etag);
  if (head.ifNoneMatch !== undefined && matchesEtag(head.ifNoneMatch, etag)) {
    send({ head: { status: 304, headers: shared }, headers: [], body: NO_BODY });
    return;
  }
  const body = coding === 'identity' ? plain : await compress[coding](plain);
  const encoding = coding === 'identity' ? [] : ['Content-Encoding', coding];
  send({ head: { status, headers: shared }, headers: [...lengthOf(body), ...encoding], body });
}

function lengthOf(body: Buffer): HeaderList {
  return ['Content-Length', String(body.length)];
}

/** The page may load scripts, styles and pages of this host, and the images of the catalogue. */
function policy(imageOrigin: string): string {
  return [
    "default-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'",
    "script-src 'self'; style-src 'self'; connect-src 'self'",
    `img-src 'self' ${imageOrigin}`.trimEnd(),
  ].join('; ');
}
