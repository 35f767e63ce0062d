/** What every route of the pages gets: what all requests share, and what belongs to one request. */
import type { BlockList } from 'node:net';
import type { HttpBindings } from '@hono/node-server';
import type { Hono } from 'hono';
import type { Account } from '../../tables/accounts.ts';
import type { Viewer } from '../pages/layout.ts';
import type { LinkLimits } from '../visitors/link-limits.ts';
import type { Identity } from '../visitors/visitors.ts';
import type { ApiWaits } from './new-key-reply.ts';

/** What all requests to the pages share. */
export interface Site extends Identity {
  /** The address of the pages for browsers, without a slash at the end. */
  readonly publicUrl: string;
  /** The address of the catalogue's website. */
  readonly siteUrl: string;
  /** The limit, in requests per minute, that the form to request a key suggests. */
  readonly defaultLimit: number;
  /** The proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: BlockList;
  readonly linkLimits: LinkLimits;
  readonly apiWaits: ApiWaits;
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
export interface FormVisit extends Visit {
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
