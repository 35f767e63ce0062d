/** What every route of the pages is handed: what the running site shares, and what a request brings. */
import type { HttpBindings } from '@hono/node-server';
import type { Hono } from 'hono';
import type { Account } from '../../tables/accounts.ts';
import type { Viewer } from '../pages/layout.ts';
import type { Identity } from '../visitors/visitors.ts';

/** What all pages of one running site share. */
export interface Site extends Identity {
  /** Where browsers reach the pages, without a slash at the end. */
  readonly publicUrl: string;
  readonly siteUrl: string;
  /** Requests a minute that are offered to a moderator who approves. */
  readonly defaultLimit: number;
  /**
   * Mails a link to sign in to the owner of an address, if an account has it. Returns at once.
   * @returns false when too many such requests are waiting
   */
  requestLink(email: string): boolean;
}

/** What is known of every request to a page, as variables of its Hono context. */
export interface Visit {
  readonly viewer: Viewer;
  /** When the request came. */
  readonly at: Date;
}
/** A visit of somebody who is signed in. */
export interface AccountVisit extends Visit {
  readonly account: Account;
}
/** A visit that sends a form. */
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
