/**
 * Reads a request whose method Node's parser does not know. That parser refuses it before any handler sees
 * it, but the contract has an answer to every method, once the request is well-formed.
 */
import { BASE, type RequestHead, readHead } from './request.ts';

export interface UnknownMethodRequest {
  readonly method: string;
  readonly target: string;
  readonly head: RequestHead;
}

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const REQUEST_LINE = new RegExp(`^(${TOKEN}) (\\S+) HTTP/(\\d\\.\\d)$`);
/** The beginning of a request line, of which the rest has not arrived yet. */
const BEGUN_LINE = new RegExp(`^(${TOKEN}) ?(\\S*)(?: [HTP/\\d.]*)?$`);
const FIELD = new RegExp(`^(${TOKEN}):[ \\t]*(.*?)[ \\t]*$`);

/**
 * @param bytes what has arrived last
 * @param at the index at which the parser refused them
 * @returns undefined if they do not begin with a request line, or have a malformed field. What has
 * not arrived yet is assumed to be well-formed.
 */
export function readUnknownMethod(bytes: Buffer, at: number): UnknownMethodRequest | undefined {
  const start = bytes.subarray(0, at).lastIndexOf('\n') + 1;
  const end = bytes.indexOf('\r\n\r\n', start);
  const text = bytes.toString('latin1', start, end < 0 ? bytes.length : end);
  const [line, ...fields] = text.split('\r\n');
  const isWhole = fields.length > 0 || end >= 0;
  const found = (isWhole ? REQUEST_LINE : BEGUN_LINE).exec(line) ?? [];
  const [, method, target, httpVersion = '1.1'] = found;
  if (method === undefined) return undefined;
  const known = end < 0 ? ['Host:'] : fields;
  const rawHeaders = known.flatMap((field) => FIELD.exec(field)?.slice(1) ?? []);
  if (rawHeaders.length !== 2 * known.length) return undefined;
  return { method, target: target || BASE, head: readHead({ rawHeaders, httpVersion }) };
}
