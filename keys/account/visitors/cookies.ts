/**
 * The cookies of the pages. If browsers use TLS, each name has the prefix `__Host-`, so that neither
 * another host of the same domain nor a page without TLS can set the cookie.
 */
import type { Context } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import type { CookieOptions } from 'hono/utils/cookie';

export interface Cookies {
  /** The value of a cookie; undefined if there is no cookie, or more than one, of that name. */
  read(c: Context, name: string): string | undefined;
  /** @param seconds how long the browser keeps the cookie; 0 removes it */
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

/**
 * Reads a cookie by the exact name that the browser sends.
 * @returns undefined without exactly one cookie of that name. Of several, an attacker may have set any
 */
export function readCookie(c: Context, name: string): string | undefined {
  const pairs = (c.req.header('cookie') ?? '').split(';');
  const count = pairs.filter((pair) => pair.split('=', 1)[0].trim() === name).length;
  return count === 1 ? getCookie(c, name) : undefined;
}
