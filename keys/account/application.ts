/**
 * One request to the pages: finds its route, who sends it and whether they may, then hands it to the
 * route's action. Nothing is changed by a GET, nor by a POST that does not bring its visitor's token.
 */
import type { IncomingMessage } from 'node:http';
import { accountRoutes } from './actions/account-actions.ts';
import { moderationRoutes } from './actions/moderation-actions.ts';
import { signInRoutes } from './actions/sign-in-actions.ts';
import { readForm } from './form-body.ts';
import { isForeign, isToken, TOKEN_FIELD } from './form-token.ts';
import { PATHS } from './pages/layout.ts';
import { messagePage } from './pages/message-page.ts';
import { page, type Reply, type Route, redirect, type Site } from './route.ts';
import { makeVisitors } from './visitors.ts';

/**
 * @returns the answer to a request
 * @throws RefusedBody when a form cannot be read
 */
export type Application = (
  request: IncomingMessage,
  path: string,
  query: URLSearchParams,
) => Promise<Reply>;

export function makeApplication(site: Site): Application {
  const routes = [...signInRoutes(site), ...accountRoutes(site), ...moderationRoutes(site)];
  const visitorOf = makeVisitors(site);

  return async function answer(request, path, query) {
    const method = request.method === 'HEAD' ? 'GET' : (request.method ?? '');
    if (method === 'POST' && isForeign(request, site.publicUrl)) {
      return plain(403, 'This form was sent from another site.');
    }
    const at = site.now();
    const { viewer, cookies } = await visitorOf(request, at);
    const withCookies = (reply: Reply): Reply => ({
      ...reply,
      cookies: [...cookies, ...reply.cookies],
    });
    const here = routes.filter(({ pattern }) => pattern.test(path));
    if (here.length === 0) {
      return page(404, messagePage(viewer, 'Not found', 'There is no such page.'));
    }
    const route = here.find((candidate) => candidate.method === method);
    if (route === undefined) {
      return {
        ...page(405, messagePage(viewer, 'Not possible', 'This page cannot be asked so.')),
        allow: [...new Set(here.flatMap(allowed))].join(', '),
      };
    }
    if (route.access !== 'anyone' && viewer.account === undefined) {
      if (method === 'GET') return redirect(PATHS.signIn);
      return withCookies(
        page(
          401,
          messagePage(viewer, 'Signed out', 'You are signed out. Sign in, then try again.'),
        ),
      );
    }
    if (route.access === 'moderator' && viewer.account?.role !== 'moderator') {
      return page(403, messagePage(viewer, 'Not allowed', 'This page is for moderators.'));
    }
    const form = method === 'POST' ? await readForm(request) : new URLSearchParams();
    if (method === 'POST' && !isToken(form.get(TOKEN_FIELD) ?? undefined, viewer.token)) {
      const text = 'This form is out of date. Go back, load its page again and send it once more.';
      return withCookies(page(403, messagePage(viewer, 'Out of date', text)));
    }
    const [, ...parts] = route.pattern.exec(path) ?? [];
    return withCookies(await route.act({ request, parts, query, form, viewer, at }));
  };

  function plain(status: number, text: string): Reply {
    const nobody = { account: undefined, token: '', hasSession: false };
    return page(status, messagePage(nobody, 'Refused', text));
  }
}

function allowed({ method }: Route): string[] {
  return method === 'GET' ? ['GET', 'HEAD'] : [method];
}
