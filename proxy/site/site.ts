/**
 * Every page outside the base that needs no key, made once at start: the start page, the API
 * reference and the contract. What can be asked for is what stands in the map; a request's path is
 * looked up and never becomes a file name.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { parse } from 'yaml';
import { hashBytes, hexOf } from '../../format/content-hash.ts';
import type { Coding } from '../http/negotiation.ts';

/** A page in one content coding. */
export interface PageBody {
  readonly coding: Coding;
  readonly etag: string;
  readonly bytes: Buffer;
}

export interface Page {
  /** Names and values in turn: all but ETag, Vary, Content-Encoding and Content-Length. */
  readonly headers: readonly string[];
  readonly bodies: {
    readonly identity: PageBody;
    readonly gzip?: PageBody;
    readonly br?: PageBody;
  };
}

const HTML = 'text/html; charset=utf-8';
const CSS = 'text/css; charset=utf-8';
const SCRIPT = 'text/javascript; charset=utf-8';
const SVG = 'image/svg+xml';
const TEXT = 'text/plain; charset=utf-8';
const JSON_TYPE = 'application/json; charset=utf-8';

/** Nothing but what the page is made of, nothing inline, and no other site may frame it. */
const CLOSED = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const START_POLICY = `${CLOSED}; script-src 'self'; style-src 'self'; img-src 'self'`;
// "Try it out" asks this host alone; Swagger UI's stylesheet has its icons as data.
const DOCS_POLICY = `${START_POLICY} data:; connect-src 'self'`;

/** Smaller bodies gain nothing from compression. */
const SMALLEST_COMPRESSED = 1024;
// As small as its best within 4 %, in a tenth of a second for all pages together.
const BROTLI_QUALITY = 5;

/**
 * The pages by their exact path.
 * @throws Error when a file of the program or of its packages is missing
 */
export function openSite(): ReadonlyMap<string, Page> {
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
    // The first line of the bundle sends its readers here.
    [
      '/docs/swagger-ui-bundle.js.LICENSE.txt',
      makePage(TEXT, swagger('swagger-ui-bundle.js.LICENSE.txt')),
    ],
    [
      '/openapi.json',
      makePage(JSON_TYPE, readContract(), CLOSED, ['Access-Control-Allow-Origin', '*']),
    ],
  ]);
}

function readContract(): Buffer {
  const text = readFileSync(new URL('../../openapi.yaml', import.meta.url), 'utf8');
  return Buffer.from(JSON.stringify(parse(text)));
}

function makePage(
  contentType: string,
  bytes: Buffer,
  policy = CLOSED,
  extra: readonly string[] = [],
): Page {
  const hash = hexOf(hashBytes(bytes));
  const identity: PageBody = { coding: 'identity', etag: `"${hash}"`, bytes };
  const headers = [
    'Content-Type',
    contentType,
    'Content-Security-Policy',
    policy,
    'X-Content-Type-Options',
    'nosniff',
    'Referrer-Policy',
    'no-referrer',
    // The names hold no version: asked again each time, pages and scripts are always of one build.
    'Cache-Control',
    'no-cache',
    ...extra,
  ];
  if (bytes.length < SMALLEST_COMPRESSED) return { headers, bodies: { identity } };
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
    [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
  };
  return {
    headers,
    bodies: {
      identity,
      gzip: { coding: 'gzip', etag: `"${hash}-gzip"`, bytes: gzipSync(bytes) },
      br: { coding: 'br', etag: `"${hash}-br"`, bytes: brotliCompressSync(bytes, { params }) },
    },
  };
}
