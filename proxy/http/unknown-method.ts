/**
 * Reads a request whose method Node's parser does not know. That parser refuses it before any handler sees
 * it, but the contract has an answer to every method, once the request is well-formed.
 */
import { type RequestHead, readHead } from './request.ts';

interface UnknownMethodRequest {
  readonly method: string;
  readonly target: string;
  readonly head: RequestHead;
}

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const REQUEST_LINE = new RegExp(`^(${TOKEN}) (\\S+) HTTP/(\\d\\.\\d)$`);
const FIELD = new RegExp(`^(${TOKEN}):[ \\t]*(.*?)[ \\t]*$`);

/**
 * @param bytes what has arrived last
 * @param at the index at which the parser refused them
 * @returns undefined if they do not begin with a request line, or have a malformed field
 */
export function readUnknownMethod(bytes: Buffer, at: number): UnknownMethodRequest | undefined {
  const start = bytes.subarray(0, at).lastIndexOf('\n') + 1;
  const end = bytes.indexOf('\r\n\r\n', start);
  const text = bytes.toString('latin1', start, end < 0 ? bytes.length : end);
  const [line, ...fields] = text.split('\r\n');
  const [, method, target, httpVersion] = REQUEST_LINE.exec(line) ?? [];
  if (method === undefined) return undefined;
  // Nothing is known against fields that have not arrived yet.
  const known = end < 0 ? ['Host:'] : fields;
  const rawHeaders = known.flatMap((field) => FIELD.exec(field)?.slice(1) ?? []);
  if (rawHeaders.length !== 2 * known.length) return undefined;
  return { method, target, head: readHead({ rawHeaders, httpVersion }) };
}
