/**
 * Reads the form of a POST. Refuses a body that is too large before it is in memory, a body that is
 * not a form, and a form without its visitor's token.
 */
import { bodyLimit } from 'hono/body-limit';
import { createMiddleware } from 'hono/factory';
import { TOKEN_FIELD } from '../pages/layout.ts';
import { isToken } from '../visitors/form-token.ts';
import { sendMessage } from './replies.ts';
import type { FormEnv } from './site.ts';

/** In bytes. The longest purpose fits, even if each character takes nine bytes when encoded. */
const LARGEST_FORM = 64 * 1024;
const MOST_FIELDS = 20;

const limitBody = bodyLimit({
  maxSize: LARGEST_FORM,
  onError: (c) => sendMessage(c, 413, 'Refused', `The form is larger than ${LARGEST_FORM} bytes.`),
});

export const readForm = createMiddleware<FormEnv>(async (c, next) => {
  const refuse = (status: 400 | 403 | 415, text: string, title = 'Refused') =>
    sendMessage(c, status, title, text);
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
    return refuse(400, 'The form was cut off.');
  }
  const form = new URLSearchParams(text);
  if (form.size > MOST_FIELDS) return refuse(400, 'The form has too many fields.');
  if (!isToken(form.get(TOKEN_FIELD), c.get('viewer').token)) {
    return refuse(
      403,
      'This form is out of date. Load its page again, then send it once more.',
      'Out of date',
    );
  }
  c.set('form', form);
  await next();
  return undefined;
});

/** The value of a field; '' if the field is missing. */
export function fieldOf(form: URLSearchParams, name: string): string {
  // Browsers send line breaks as CR LF.
  return (form.get(name) ?? '').replaceAll('\r\n', '\n');
}
