/** Middleware of routes that are not for everybody. */
import { createMiddleware } from 'hono/factory';
import { PATHS } from '../../paths.ts';
import { redirect, sendMessage } from './replies.ts';
import type { AccountEnv } from './site.ts';

/** Lets in whoever is signed in, as `account`. Others are sent to sign in. */
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

/** Lets in moderators, of those who are signed in. */
export const needsModerator = createMiddleware<AccountEnv>(async (c, next) => {
  if (c.get('account').role !== 'moderator') {
    return sendMessage(c, 403, 'Not allowed', 'This page is for moderators.');
  }
  await next();
  return undefined;
});
