/**
 * Middleware before the routes: it lets in only users who are signed in, or only moderators, and
 * reads the form of a POST. A body that is too large is refused before it is in memory.
 */
import type { Context } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { createMiddleware } from 'hono/factory';
import { html } from '../../../lib/pages/html.ts';
import { factList } from '../../../lib/pages/shown-values.ts';
import { signInPath } from '../../paths.ts';
import { type AccountEnv, type FormEnv, redirect, sendMessage } from './replies.ts';

/** In bytes. The longest purpose fits, even if each character takes nine bytes when encoded. */
const LARGEST_FORM = 64 * 1024;

/** The fields that people type longer texts into, with the names that a page shows. */
const TYPED = [
  ['purpose', 'What are you building?'],
  ['website_url', 'Website'],
  ['name', 'Name'],
  ['reason', 'Reason'],
] as const;

const limitBody = bodyLimit({
  maxSize: LARGEST_FORM,
  onError: (c) =>
    sendMessage(
      c,
      413,
      'Your text is too long',
      `A form can have at most ${LARGEST_FORM / 1024} KiB. Nothing was changed.`,
    ),
});

/** Lets in users who are signed in, and sets `account`. Sends others to the sign-in page. */
export const needsAccount = createMiddleware<AccountEnv>(async (c, next) => {
  const { account } = c.get('viewer');
  if (account !== undefined) {
    c.set('account', account);
    await next();
    return undefined;
  }
  if (c.req.method !== 'POST') {
    const { pathname, search } = new URL(c.req.url);
    return redirect(c, signInPath(pathname + search));
  }
  const form = await readFields(c);
  if (form instanceof Response) return form;
  // The sign-in may have expired while somebody typed a long text, which must not be lost.
  const typed = TYPED.map(([field, name]) => [name, fieldOf(form, field)] as const);
  const text = 'You are no longer signed in, so nothing was changed. Sign in, then try again.';
  const isTyped = typed.some(([, value]) => value !== '');
  const shown = isTyped ? html`<p>You typed:</p>${factList(typed)}` : undefined;
  return sendMessage(c, 401, 'Sign in again', text, shown);
});

/** Lets in moderators only. Use it after {@link needsAccount}. */
export const needsModerator = createMiddleware<AccountEnv>(async (c, next) => {
  if (c.get('account').role !== 'moderator') {
    return sendMessage(c, 403, 'For moderators only', 'Your account is not a moderator.');
  }
  await next();
  return undefined;
});

/** Reads the form of a POST, and sets `form`. */
export const readForm = createMiddleware<FormEnv>(async (c, next) => {
  const form = await readFields(c);
  if (form instanceof Response) return form;
  c.set('form', form);
  await next();
  return undefined;
});

/** @returns the fields of a form; a response if they cannot be read */
async function readFields(c: Context): Promise<URLSearchParams | Response> {
  const [type] = (c.req.header('content-type') ?? '').split(';', 1);
  if (type.trim().toLowerCase() !== 'application/x-www-form-urlencoded') {
    const text = 'Send a form of the type application/x-www-form-urlencoded.';
    return sendMessage(c, 415, 'Nothing was changed', text);
  }
  let text: string | undefined;
  try {
    const tooLarge = await limitBody(c, async () => {
      text = await c.req.text();
    });
    if (tooLarge !== undefined) return tooLarge;
  } catch {
    // The client closed the connection. This is not logged, because anybody could then fill the disk.
    const message = 'Only a part of the form arrived. Send it again.';
    return sendMessage(c, 400, 'Nothing was changed', message);
  }
  return new URLSearchParams(text);
}

/** The value of a field; '' if the field is missing. */
export function fieldOf(form: URLSearchParams, name: string): string {
  // Browsers send line breaks as CR LF.
  return (form.get(name) ?? '').replaceAll('\r\n', '\n');
}

/** The limit in a form. NaN, which the lifecycle refuses, if the text is not a whole number. */
export function limitIn(form: URLSearchParams): number {
  const digits = fieldOf(form, 'limit').trim();
  return /^\d{1,10}$/.test(digits) ? Number(digits) : Number.NaN;
}
