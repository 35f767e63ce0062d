/** Middleware that restricts routes to users who are signed in, or to moderators. */
import { createMiddleware } from 'hono/factory';
import { PATHS } from '../../paths.ts';
import { readFields, sendFormAgain } from './forms.ts';
import { redirect, sendMessage } from './replies.ts';
import type { AccountEnv } from './site.ts';

/** Lets in users who are signed in, and sets `account`. Sends others to the sign-in page. */
export const needsAccount = createMiddleware<AccountEnv>(async (c, next) => {
  const { account } = c.get('viewer');
  if (account === undefined) {
    if (c.req.method !== 'POST') return redirect(c, PATHS.signIn);
    const form = await readFields(c);
    return form instanceof Response ? form : sendFormAgain(c, 401, form);
  }
  c.set('account', account);
  await next();
  return undefined;
});

/** Lets in moderators only. Use it after {@link needsAccount}. */
export const needsModerator = createMiddleware<AccountEnv>(async (c, next) => {
  if (c.get('account').role !== 'moderator') {
    return sendMessage(c, 403, 'For moderators only', 'Your account is not a moderator.');
  }
  await next();
  return undefined;
});
