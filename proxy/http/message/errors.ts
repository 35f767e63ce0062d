/** The one shape of every error: JSON with a text. */
import type { Responder } from './responder.ts';

export const JSON_TYPE = 'application/json; charset=utf-8';

/**
 * Sends an error.
 * @param extra further header fields as lines, each with CR LF behind it
 * @param isLast whether the connection ends with it
 */
export function sendPlainError(
  response: Responder,
  status: number,
  text: string,
  extra = '',
  isLast = false,
): void {
  const body = errorBody(text);
  response.send(status, errorFields(body) + extra, body, isLast);
}

/** The header fields that every error has, as lines. */
export function errorFields(body: string): string {
  return `Content-Type: ${JSON_TYPE}\r\nContent-Length: ${body.length}\r\nCache-Control: no-store\r\n`;
}

/** The body of an error, one character a byte. */
export function errorBody(text: string): string {
  return Buffer.from(JSON.stringify({ error: text })).toString('latin1');
}
