/**
 * Reads the form of a POST. Refuses a body that is too large before it is in memory, a body that is
 * not a form, and a form without its visitor's token. What a visitor typed is not lost with the token.
 */
import type { Context } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { createMiddleware } from 'hono/factory';
import { formAgainPage, hasTypedText } from '../pages/form-again-page.ts';
import { TOKEN_FIELD, type Viewer } from '../pages/layout.ts';
import { isToken } from '../visitors/form-token.ts';
import { sendMessage, sendPage } from './replies.ts';
import type { FormEnv } from './site.ts';

/** In bytes. The longest purpose fits, even if each character takes nine bytes when encoded. */
const LARGEST_FORM = 64 * 1024;
const MOST_FIELDS = 20;

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

export const readForm = createMiddleware<FormEnv>(async (c, next) => {
  const form = await readFields(c);
  if (form instanceof Response) return form;
  if (!isToken(form.get(TOKEN_FIELD), c.get('viewer').token)) return sendFormAgain(c, 403, form);
  c.set('form', form);
  await next();
  return undefined;
});

/** @returns the fields of a form, whoever sent it; a response if they cannot be read */
export async function readFields(c: Context): Promise<URLSearchParams | Response> {
  const refuse = (status: 400 | 415, text: string) =>
    sendMessage(c, status, 'Nothing was changed', text);
  const [type] = (c.req.header('content-type') ?? '').split(';', 1);
  if (type.trim().toLowerCase() !== 'application/x-www-form-urlencoded') {
    return refuse(415, 'Send a form of the type application/x-www-form-urlencoded.');
  }
  if (c.req.header('content-encoding') !== undefined) {
    return refuse(415, 'Send the form without a content coding.');
  }
  let text: string | undefined;
  try {
    const tooLarge = await limitBody(c, async () => {
      text = await c.req.text();
    });
    if (tooLarge !== undefined) return tooLarge;
  } catch {
    // The client closed the connection. This is not logged, because anybody could then fill the disk.
    return refuse(400, 'Only a part of the form arrived. Send it again.');
  }
  const form = new URLSearchParams(text);
  return form.size > MOST_FIELDS ? refuse(400, 'The form has too many fields.') : form;
}

/**
 * Refuses a form whose visitor has signed in or out since it was opened, and gives back what was typed.
 * Only for a browser that says which site the form comes from, which `refuseForeignForms` has checked:
 * otherwise another site could fill in the form, and the visitor would only have to press the button.
 */
export function sendFormAgain(c: Context, status: 401 | 403, form: URLSearchParams): Response {
  const viewer: Viewer = c.get('viewer');
  const origin = c.req.header('sec-fetch-site') ?? c.req.header('origin');
  if (origin !== undefined && hasTypedText(form)) {
    const refused = { action: c.req.path, form, needsSignIn: status === 401 };
    return sendPage(c, status, formAgainPage(viewer, refused));
  }
  if (status === 401) {
    const text = 'You are no longer signed in, so nothing was changed. Sign in, then try again.';
    return sendMessage(c, 401, 'Sign in again', text);
  }
  const text =
    'You may have signed in or out since you opened it. Go back, reload the page and send the form again.';
  return sendMessage(c, 403, 'This form has expired', text);
}

/** The value of a field; '' if the field is missing. */
export function fieldOf(form: URLSearchParams, name: string): string {
  // Browsers send line breaks as CR LF.
  return (form.get(name) ?? '').replaceAll('\r\n', '\n');
}

/** @returns undefined for an empty text; NaN, which the lifecycle refuses, if it is not a whole number */
export function wholeNumber(text: string): number | undefined {
  const digits = text.trim();
  if (digits === '') return undefined;
  return /^\d{1,10}$/.test(digits) ? Number(digits) : Number.NaN;
}
