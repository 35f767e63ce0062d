/** What every route gets, and the responses of the routes: a page, one with a message, or a redirect. */
import type { BlockList } from 'node:net';
import type { HttpBindings } from '@hono/node-server';
import type { Context, Hono } from 'hono';
import { HTTPException } from 'hono/http-exception';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { Html } from '../../../lib/pages/html.ts';
import type { SiteProfile } from '../../../lib/pages/layout.ts';
import type { Slice } from '../../lifecycle/key-lists.ts';
import { Refusal } from '../../lifecycle/refusal.ts';
import type { Account } from '../../tables/accounts.ts';
import type { Refused } from '../pages/form-fields.ts';
import { messagePage, type Notice, type Viewer } from '../pages/layout.ts';
import type { Identity } from '../visitors/visitors.ts';

/** What all requests to the pages share. */
export interface Site extends Identity {
  /** The address of the pages for browsers, without a slash at the end. */
  readonly publicUrl: string;
  /** The name, contact and address of the catalogue's website. */
  readonly siteProfile: SiteProfile;
  /** Where the website signs users in, with a place for the address to come back to; '' if it is not set. */
  readonly signInUrl: string;
  /** What the sign-in page says besides; '' for nothing. */
  readonly signInNote: string;
  /** The limit, in requests per minute, that the form to request a key suggests. */
  readonly defaultLimit: number;
  /** Whether the proxy serves an explorer. */
  readonly hasExplorer: boolean;
  /** The proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: BlockList;
  /** Resolves when the API is to be asked again whether it accepts a new key. */
  pauseForApi(): Promise<unknown>;
  /**
   * Mails a sign-in link to an address, if the address belongs to an account. Returns at once.
   * @returns false if too many requests for links are waiting
   */
  requestLink(email: string): boolean;
  /** Counts a visitor who has used a sign-in link, or whose link was refused. */
  countSignIn(outcome: 'done' | 'refused'): void;
}

/** A request to a page, as variables of its Hono context. */
export interface Visit {
  readonly viewer: Viewer;
  /** When the request arrived. */
  readonly at: Date;
}
/** A request of a user who is signed in. */
export interface AccountVisit extends Visit {
  readonly account: Account;
}
/** A request with a form. */
interface FormVisit extends Visit {
  readonly form: URLSearchParams;
}

interface EnvOf<V extends object> {
  Bindings: HttpBindings;
  Variables: V;
}
export type PageEnv = EnvOf<Visit>;
export type AccountEnv = EnvOf<AccountVisit>;
export type FormEnv = EnvOf<FormVisit>;
export type App = Hono<PageEnv>;

/** Sends a text with its Content-Length, which the response to a HEAD request then has too. */
export function sendText(
  c: Context,
  status: ContentfulStatusCode,
  type: string,
  text: string,
): Response {
  const length = String(Buffer.byteLength(text));
  return c.body(text, status, { 'Content-Type': type, 'Content-Length': length });
}

export function sendPage(c: Context, status: ContentfulStatusCode, page: Html): Response {
  return sendText(c, status, 'text/html; charset=utf-8', page.toString());
}

export function sendMessage(
  c: Context,
  status: ContentfulStatusCode,
  title: string,
  text: string,
  more?: Html,
): Response {
  return sendPage(c, status, messagePage(c.get('viewer'), title, text, more));
}

/** Makes the browser GET another page, so that a reload does not send a form again. */
export function redirect(c: Context, location: string): Response {
  c.header('Content-Length', '0');
  return c.redirect(location, 303);
}

/**
 * The id of the key in the path of a request.
 * @throws HTTPException with status 404 if the number is larger than any id
 */
export function keyIdOf(c: Context): number {
  const id = Number(c.req.param('id'));
  if (!Number.isSafeInteger(id)) throw new HTTPException(404);
  return id;
}

/** The notice for `?done=…` in the address; undefined for an unknown value. */
export function doneNotice(
  c: Context,
  texts: Readonly<Record<string, string>>,
): Notice | undefined {
  const done = c.req.query('done') ?? '';
  return Object.hasOwn(texts, done) ? { kind: 'done', text: texts[done] } : undefined;
}

const REFUSAL_STATUS = { invalid: 422, missing: 404, conflict: 409, limited: 429 } as const;
type RefusalStatus = (typeof REFUSAL_STATUS)[Refusal['kind']];

/** What a page says about an action. */
export interface Outcome {
  readonly status?: 200 | RefusalStatus;
  readonly notice?: Notice | undefined;
  readonly refused?: Refused;
}

/** Performs an action. If it is refused, shows a page with the reason, and what was typed. */
export async function attempt(
  c: Context,
  form: URLSearchParams,
  act: () => Promise<Response>,
  show: (outcome: Outcome) => Promise<Response>,
): Promise<Response> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { kind, retryAfterSeconds, message: text, faults } = error;
    if (retryAfterSeconds !== undefined) c.header('Retry-After', String(retryAfterSeconds));
    const refused = { path: c.req.path, form, faults };
    return show({ status: REFUSAL_STATUS[kind], notice: { kind: 'refused', text }, refused });
  }
}

const LAST_PAGE = 100_000;

/** The number of a page of a list, from the query; 1 if the query has no such number. */
export function pageOf(c: Context, name: string): number {
  const page = Number(c.req.query(name) ?? 1);
  return Number.isInteger(page) && page >= 1 && page <= LAST_PAGE ? page : 1;
}

/** What to read for a page: one entry more than it shows, to find out whether there is another page. */
export function sliceFor(page: number, perPage: number): Slice {
  return { limit: perPage + 1, offset: (page - 1) * perPage };
}
