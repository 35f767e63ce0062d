/**
 * Cookies: read from a request, written for a response. Behind TLS each has the `__Host-` prefix,
 * so that neither a sibling host nor a page without TLS can plant one.
 */
import type { IncomingMessage } from 'node:http';

export interface Cookies {
  /** The value, or undefined when there is none or more than one of that name. */
  read(request: IncomingMessage, name: string): string | undefined;
  /**
   * The value of a Set-Cookie field.
   * @param seconds how long the browser keeps it; 0 removes it
   */
  write(name: string, value: string, seconds: number): string;
}

/** @param isSecure whether browsers reach the pages over TLS */
export function makeCookies(isSecure: boolean): Cookies {
  const nameOf = (name: string) => (isSecure ? `__Host-${name}` : name);
  return {
    read(request, name) {
      return readCookie(request, nameOf(name));
    },
    write(name, value, seconds) {
      const secure = isSecure ? '; Secure' : '';
      return `${nameOf(name)}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure}`;
    },
  };
}

/** A cookie by the name that it has on the wire. Of two alike neither is believed. */
export function readCookie(request: IncomingMessage, name: string): string | undefined {
  const values = (request.headers.cookie ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  return values.length === 1 ? values[0] : undefined;
}
