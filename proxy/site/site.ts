/**
 * The pages outside the base, made once at start: the start page, the API reference and the OpenAPI
 * contract. Only the paths in the map exist. The path of a request is never used as a file name.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { parse } from 'yaml';
import { hashBytes, hexOf } from '../../format/content-hash.ts';
import { type Coding, SMALLEST_COMPRESSED } from '../http/message/negotiation.ts';
import {
  type HeaderList,
  JSON_TYPE,
  NO_BODY,
  type PreparedResponse,
} from '../http/message/response.ts';
import { BASE } from '../http/message/target.ts';

/** The responses for a page in one content coding. */
export interface PageResponses {
  readonly etag: string;
  readonly whole: PreparedResponse;
  readonly notModified: PreparedResponse;
}

/** A page in each of its codings. A small page is not compressed. */
export interface Page {
  readonly identity: PageResponses;
  readonly gzip?: PageResponses;
  readonly br?: PageResponses;
}

const HTML = 'text/html; charset=utf-8';
const CSS = 'text/css; charset=utf-8';
const SCRIPT = 'text/javascript; charset=utf-8';
const SVG = 'image/svg+xml';
const TEXT = 'text/plain; charset=utf-8';

/** Nothing may be loaded, and no other site may frame the page. The policies below allow more. */
const CLOSED = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const START_POLICY = `${CLOSED}; script-src 'self'; style-src 'self'; img-src 'self'`;
// "Try it out" may send requests to this host only. Swagger UI's stylesheet contains its icons as data.
const DOCS_POLICY = `${START_POLICY} data:; connect-src 'self'`;

// At most 4 % larger than with the best level; compressing all pages takes a tenth of a second.
const BROTLI_QUALITY = 5;

/**
 * The pages by their exact path.
 * @param publicUrl the address at which clients reach the proxy, for the contract
 * @throws Error when a file of the program or of its packages is missing
 */
export function openSite(publicUrl: string): ReadonlyMap<string, Page> {
  const own = (name: string) => readFileSync(new URL(`./files/${name}`, import.meta.url));
  const { resolve } = createRequire(import.meta.url);
  const swagger = (name: string) => readFileSync(resolve(`swagger-ui-dist/${name}`));
  return new Map<string, Page>([
    ['/', makePage(HTML, own('start.html'), START_POLICY)],
    ['/start.css', makePage(CSS, own('start.css'))],
    ['/start.js', makePage(SCRIPT, own('start.js'))],
    ['/site.css', makePage(CSS, own('site.css'))],
    ['/icon.svg', makePage(SVG, own('icon.svg'))],
    ['/docs', makePage(HTML, own('docs.html'), DOCS_POLICY)],
    ['/docs/docs.js', makePage(SCRIPT, own('docs.js'))],
    ['/docs/docs.css', makePage(CSS, own('docs.css'))],
    ['/docs/swagger-ui.css', makePage(CSS, swagger('swagger-ui.css'))],
    ['/docs/swagger-ui-bundle.js', makePage(SCRIPT, swagger('swagger-ui-bundle.js'))],
    // The first line of the bundle refers to this file.
    [
      '/docs/swagger-ui-bundle.js.LICENSE.txt',
      makePage(TEXT, swagger('swagger-ui-bundle.js.LICENSE.txt')),
    ],
    [
      '/openapi.json',
      makePage(JSON_TYPE, readContract(publicUrl), CLOSED, ['Access-Control-Allow-Origin', '*']),
    ],
  ]);
}

/** The contract with an absolute address, which clients generated from it need. */
function readContract(publicUrl: string): Buffer {
  const text = readFileSync(new URL('../../openapi.yaml', import.meta.url), 'utf8');
  const servers = [{ url: `${publicUrl}${BASE}` }];
  return Buffer.from(JSON.stringify({ ...parse(text), servers }));
}

function makePage(
  contentType: string,
  bytes: Buffer,
  policy = CLOSED,
  extra: HeaderList = [],
): Page {
  const hash = hexOf(hashBytes(bytes));
  const headers = [
    ...['Content-Type', contentType],
    ...['Content-Security-Policy', policy],
    ...['X-Content-Type-Options', 'nosniff'],
    ...['Referrer-Policy', 'no-referrer'],
    // File names contain no version. Browsers must revalidate, so that pages and scripts match.
    ...['Cache-Control', 'no-cache', ...extra],
  ];
  const identity = prepare(headers, 'identity', `"${hash}"`, bytes);
  if (bytes.length < SMALLEST_COMPRESSED) return { identity };
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
    [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
  };
  return {
    identity,
    gzip: prepare(headers, 'gzip', `"${hash}-gzip"`, gzipSync(bytes)),
    br: prepare(headers, 'br', `"${hash}-br"`, brotliCompressSync(bytes, { params })),
  };
}

function prepare(headers: HeaderList, coding: Coding, etag: string, body: Buffer): PageResponses {
  const shared = [...headers, 'ETag', etag, 'Vary', 'Accept-Encoding'];
  const length = ['Content-Length', String(body.length)];
  const encoding = coding === 'identity' ? [] : ['Content-Encoding', coding];
  return {
    etag,
    whole: { head: { status: 200, headers: shared }, headers: [...length, ...encoding], body },
    notModified: { head: { status: 304, headers: shared }, headers: [], body: NO_BODY },
  };
}
