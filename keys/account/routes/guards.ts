/** Middleware that restricts routes to users who are signed in, or to moderators. */
import { createMiddleware } from 'hono/factory';
import { PATHS } from '../../paths.ts';
import { redirect, sendMessage } from './replies.ts';
import type { AccountEnv } from './site.ts';

/** Lets in users who are signed in, and sets `account`. Sends others to the sign-in page. */
export const needsAccount = createMiddleware<AccountEnv>(async (c, next) => {
  const { account } = c.get('viewer');
  if (account === undefined) {
    if (c.req.method !== 'POST') return redirect(c, PATHS.signIn);
    return sendMessage(c, 401, 'Signed out', 'You are signed out. Sign in, then try again.');
  }
  c.set('account', account);
  await next();
  return undefined;
});

/** Lets in moderators only. Use it after {@link needsAccount}. */
export const needsModerator = createMiddleware<AccountEnv>(async (c, next) => {
  if (c.get('account').role !== 'moderator') {
    return sendMessage(c, 403, 'Not allowed', 'This page is for moderators.');
  }
  await next();
  return undefined;
});
