/** The responses of the routes: a page, a page with one message, or a redirect. */
import type { Context } from 'hono';
import { HTTPException } from 'hono/http-exception';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { Html } from '../../../pages/html.ts';
import type { Refusal } from '../../lifecycle/transition.ts';
import type { Notice, Viewer } from '../pages/layout.ts';
import { messagePage } from '../pages/message-page.ts';

/** Used for a request that failed before its visitor was identified. */
const NOBODY: Viewer = { account: undefined, token: '', hasSession: false };

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
): Response {
  const viewer: Viewer = c.get('viewer') ?? NOBODY;
  return sendPage(c, status, messagePage(viewer, title, text));
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

const REFUSAL_STATUS = { invalid: 422, missing: 404, conflict: 409 } as const;
export type RefusalStatus = (typeof REFUSAL_STATUS)[Refusal['kind']];

/** The HTTP status for a refusal. */
export function statusOf({ kind }: Refusal): RefusalStatus {
  return REFUSAL_STATUS[kind];
}
