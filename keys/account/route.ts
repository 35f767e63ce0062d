/** What routes of the pages are made of: what an action is handed and what it answers with. */
import type { IncomingMessage } from 'node:http';
import type { Database } from '../../database/database.ts';
import type { AssertionCheck } from './assertion.ts';
import type { Cookies } from './cookies.ts';
import type { Html } from './html.ts';
import type { Viewer } from './pages/layout.ts';

/** What all pages of one running site share. */
export interface Site {
  readonly database: Database;
  /** Where browsers reach the pages, without a slash at the end. */
  readonly publicUrl: string;
  readonly siteUrl: string;
  /** Requests a minute that are offered to a moderator who approves. */
  readonly defaultLimit: number;
  readonly cookies: Cookies;
  /** Where the site says who is logged in; undefined: sign-in by e-mailed links. */
  readonly checkAssertion: AssertionCheck | undefined;
  /**
   * Has a link to sign in mailed to the owner of an address, if an account has it, and returns at once.
   * @returns false when too many such requests are waiting
   */
  requestLink(email: string): boolean;
  readonly now: () => Date;
}

export interface Route {
  readonly method: 'GET' | 'POST';
  /** Its groups become `parts`. */
  readonly pattern: RegExp;
  readonly access: 'anyone' | 'account' | 'moderator';
  act(ask: Ask): Reply | Promise<Reply>;
}

/** One request, after all that routes have in common was checked. */
export interface Ask {
  readonly request: IncomingMessage;
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
  /** Empty for a GET. */
  readonly form: URLSearchParams;
  readonly viewer: Viewer;
  readonly at: Date;
}

export interface Reply {
  readonly status: number;
  readonly page?: Html;
  readonly location?: string;
  readonly allow?: string;
  /** Values of Set-Cookie. */
  readonly cookies: readonly string[];
}

export function page(status: number, markup: Html): Reply {
  return { status, page: markup, cookies: [] };
}

/** Sends the browser on with a GET, so that a reload repeats nothing. */
export function redirect(location: string, cookies: readonly string[] = []): Reply {
  return { status: 303, location, cookies };
}
