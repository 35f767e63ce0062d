/**
 * The cookies of the pages. Behind TLS each has the `__Host-` prefix, so that neither a sibling host
 * nor a page without TLS can plant one.
 */
import type { Context } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import type { CookieOptions } from 'hono/utils/cookie';

export interface Cookies {
  /** The value, or undefined if there is none or more than one of that name. */
  read(c: Context, name: string): string | undefined;
  /** @param seconds how long the browser keeps it; 0 removes it */
  write(c: Context, name: string, value: string, seconds: number): void;
}

/** @param isSecure whether browsers reach the pages over TLS */
export function makeCookies(isSecure: boolean): Cookies {
  const options: CookieOptions = { path: '/', httpOnly: true, sameSite: 'Lax', secure: isSecure };
  if (isSecure) options.prefix = 'host';
  return {
    read: (c, name) => readCookie(c, isSecure ? `__Host-${name}` : name),
    write: (c, name, value, maxAge) => setCookie(c, name, value, { ...options, maxAge }),
  };
}

/** A cookie by the name that the browser sends. Of two with one name, either may be planted. */
export function readCookie(c: Context, name: string): string | undefined {
  const pairs = (c.req.header('cookie') ?? '').split(';');
  const count = pairs.filter((pair) => pair.split('=', 1)[0].trim() === name).length;
  return count === 1 ? getCookie(c, name) : undefined;
}
