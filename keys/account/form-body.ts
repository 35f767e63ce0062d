/**
 * The fields of a posted form, read from a request. No more than a bound is ever held in memory, and
 * what is no form of this site is refused.
 */
import type { IncomingMessage } from 'node:http';

/** In bytes; the longest purpose, each character percent-encoded three times over, fits. */
export const LARGEST_BODY = 64 * 1024;
const MOST_FIELDS = 20;

/** A body that is not taken, with the status that says why. */
export class RefusedBody extends Error {
  override readonly name = 'RefusedBody';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/**
 * Reads a form of the type application/x-www-form-urlencoded.
 * @throws RefusedBody when it is too large, of another type or broken off
 */
export async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  const [type] = (request.headers['content-type'] ?? '').split(';', 1) as [string];
  if (type.trim().toLowerCase() !== 'application/x-www-form-urlencoded') {
    throw new RefusedBody(415, 'Send a form of the type application/x-www-form-urlencoded.');
  }
  if (request.headers['content-encoding'] !== undefined) {
    throw new RefusedBody(415, 'Send the form without a content coding.');
  }
  if (Number(request.headers['content-length'] ?? 0) > LARGEST_BODY) throw tooLarge();
  const parts: Buffer[] = [];
  let size = 0;
  try {
    for await (const part of request as AsyncIterable<Buffer>) {
      size += part.length;
      if (size > LARGEST_BODY) throw tooLarge();
      parts.push(part);
    }
  } catch (cause) {
    if (cause instanceof RefusedBody) throw cause;
    throw new RefusedBody(400, 'The form was broken off.');
  }
  const form = new URLSearchParams(Buffer.concat(parts).toString('utf8'));
  if (form.size > MOST_FIELDS) throw new RefusedBody(400, 'The form has too many fields.');
  return form;
}

/** The one value of a field, '' when it is missing. */
export function fieldOf(form: URLSearchParams, name: string): string {
  // Browsers send line ends of texts as CR LF.
  return (form.get(name) ?? '').replaceAll('\r\n', '\n');
}

function tooLarge(): RefusedBody {
  return new RefusedBody(413, `The form is larger than ${LARGEST_BODY} bytes.`);
}
