/**
 * Reads the head of a usual request from the bytes of a connection: a GET under the base whose whole
 * head has arrived and contains nothing unusual. Node's HTTP parser would read every head that is
 * accepted here in the same way. All other heads are left to that parser.
 */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { type RequestHead, readHead } from '../message/request-head.ts';
import { BASE } from '../message/target.ts';

/** In bytes; a longer head is unusual. */
const LONGEST_HEAD = 8 * 1024;
const MOST_FIELDS = 64;

/** The start of a request line, up to and including the "/" after the base. */
const BEFORE_TARGET = Buffer.from(`GET ${BASE}/`);
const VERSION = Buffer.from(' HTTP/1.1\r\n');
const END_OF_HEAD = Buffer.from('\r\n\r\n');
/** For each byte, 1 if a usual target may contain it. Bytes from 128 on are raw UTF-8. */
const IN_TARGET = new Uint8Array(256);
for (const byte of Buffer.from(
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._~?&=%+,:;@!*'()$-",
)) {
  IN_TARGET[byte] = 1;
}
IN_TARGET.fill(1, 128);
const FIELD_NAME = /^[A-Za-z0-9-]+$/;
const FIELD_VALUE = /^[ -~]*$/;
/** Fields that change how a connection is read or used. */
const UNUSUAL = new Set([
  'content-length',
  'expect',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

export interface FastRequest {
  /** The path after the base, and the query. */
  readonly target: string;
  readonly head: RequestHead;
  /** The index in the bytes at which the next request begins. */
  readonly end: number;
}

/** @returns undefined for a request that Node must read */
export type RequestReader = (bytes: Buffer, at: number) => FastRequest | undefined;

/**
 * Makes the reader of one connection. Most clients send the same fields with every request, so the
 * parsed fields are kept. The result of the reader does not refer to the bytes that it read.
 */
export function makeRequestReader(): RequestReader {
  // `fields` are the bytes from the end of the request line to the end of the head.
  let last: { readonly fields: Buffer; readonly head: RequestHead } | undefined;
  return (bytes, at) => {
    if (!startsWith(bytes, at, BEFORE_TARGET)) return undefined;
    const longest = Math.min(bytes.length, at + LONGEST_HEAD);
    let targetEnd = at + BEFORE_TARGET.length;
    while (targetEnd < longest && IN_TARGET[bytes[targetEnd]] === 1) targetEnd++;
    if (!startsWith(bytes, targetEnd, VERSION)) return undefined;
    const fieldsAt = targetEnd + VERSION.length - 2;
    if (last === undefined || !startsWith(bytes, fieldsAt, last.fields)) {
      const fieldsEnd = bytes.indexOf(END_OF_HEAD, fieldsAt);
      if (fieldsEnd < 0 || fieldsEnd - at > LONGEST_HEAD) return undefined;
      const rawHeaders = readFields(bytes.toString('latin1', fieldsAt, fieldsEnd));
      if (rawHeaders === undefined) return undefined;
      last = {
        fields: Buffer.from(bytes.subarray(fieldsAt, fieldsEnd + END_OF_HEAD.length)),
        head: readHead({ rawHeaders, httpVersion: '1.1' }),
      };
    }
    const end = fieldsAt + last.fields.length;
    // With a longer target, the same fields can make a head that is too long.
    if (end - END_OF_HEAD.length - at > LONGEST_HEAD) return undefined;
    const target = encodeRaw(bytes, at + BEFORE_TARGET.length - 1, targetEnd);
    return target === undefined ? undefined : { target, head: last.head, end };
  };
}

const RAW = /[\x80-\xff]/;
const ALL_RAW = new RegExp(RAW, 'g');

/**
 * Percent-encodes raw UTF-8, which some clients send in a target and Node's parser refuses.
 * @returns undefined if the bytes are not UTF-8
 */
function encodeRaw(bytes: Buffer, start: number, end: number): string | undefined {
  const text = bytes.toString('latin1', start, end);
  if (!RAW.test(text)) return text;
  if (!isUtf8(bytes.subarray(start, end))) return undefined;
  return text.replace(ALL_RAW, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** Percent-encodes raw UTF-8 in the request line at the start of the bytes, if there is a whole one. */
export function encodeRequestLine(bytes: Buffer): Buffer {
  const end = bytes.indexOf('\r\n');
  const line = end < 0 ? undefined : encodeRaw(bytes, 0, end);
  if (line === undefined || line.length === end) return bytes;
  return Buffer.concat([Buffer.from(line, 'latin1'), bytes.subarray(end)]);
}

function startsWith(bytes: Buffer, at: number, wanted: Buffer): boolean {
  if (at + wanted.length > bytes.length) return false;
  for (let i = 0; i < wanted.length; i++) if (bytes[at + i] !== wanted[i]) return false;
  return true;
}

/**
 * @param text the fields, each preceded by CR LF
 * @returns alternating names and values, as in Node; undefined if a field is unusual
 */
function readFields(text: string): IncomingMessage['rawHeaders'] | undefined {
  const fields: string[] = [];
  for (let at = 0; at < text.length; ) {
    const next = text.indexOf('\r\n', at + 2);
    const end = next < 0 ? text.length : next;
    const colon = text.indexOf(':', at);
    if (colon < 0 || colon > end || fields.length === MOST_FIELDS * 2) return undefined;
    const name = text.slice(at + 2, colon);
    const value = text.slice(colon + 1, end);
    if (!FIELD_NAME.test(name) || !FIELD_VALUE.test(value)) return undefined;
    const folded = name.toLowerCase();
    if (UNUSUAL.has(folded)) return undefined;
    const trimmed = value.trim();
    if (folded === 'connection' && trimmed.toLowerCase() !== 'keep-alive') return undefined;
    fields.push(name, trimmed);
    at = end;
  }
  return fields;
}
