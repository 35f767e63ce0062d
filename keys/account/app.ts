/**
 * The pages as one Hono application: middleware for every request, static files, routes, and the
 * handling of all errors. Invariant: only a POST from a page of this site changes an account or a key.
 */
import { Hono } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { methodNotAllowed } from 'hono/method-not-allowed';
import type { Logger } from 'pino';
import { isAway } from '../../lib/database/database.ts';
import { readFiles, SHARED_FILES } from '../../lib/pages/layout.ts';
import { FILES_PATH } from '../paths.ts';
import { addModerationRoutes } from './routes/moderation.ts';
import { addOwnKeyRoutes } from './routes/own-keys.ts';
import { type App, type PageEnv, type Site, sendMessage, sendText } from './routes/replies.ts';
import { addSignInRoutes } from './routes/sign-in.ts';
import { SiteKeysUnreachable } from './visitors/assertion.ts';
import { identify, refuseForeignForms } from './visitors/visitors.ts';

/**
 * The pages may load files of this site only, with no inline scripts or styles. Their forms may be
 * sent to this site only. No site may show the pages in a frame.
 */
const SECURITY_FIELDS = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  // The address of a sign-in link contains a token, which no other site may learn. The stricter
  // "no-referrer" would make browsers send forms with "Origin: null".
  'Referrer-Policy': 'same-origin',
};

export function makeApp(site: Site, log: Logger): App {
  const app: App = new Hono<PageEnv>();
  const ofSite = { hasExplorer: site.hasExplorer, siteProfile: site.siteProfile };
  app.use(async (c, next) => {
    for (const [name, value] of Object.entries(SECURITY_FIELDS)) c.header(name, value);
    await next();
  });
  for (const folder of [SHARED_FILES, new URL('./files/', import.meta.url)]) {
    for (const { name, type, content } of readFiles(folder)) {
      app.get(`${FILES_PATH}/${name}`, (c) => {
        c.header('Cache-Control', 'no-cache');
        return sendText(c, 200, type, content);
      });
    }
  }
  app.use(async (c, next) => {
    c.header('Cache-Control', 'no-store');
    await next();
  });
  app.use(async (c, next) => {
    // Also a page that is sent before its visitor is known has the names and links of this site.
    c.set('viewer', { account: undefined, hasSession: false, ...ofSite });
    await next();
  });
  app.use(refuseForeignForms(site.publicUrl));
  app.use(async (c, next) => {
    const at = new Date();
    c.set('at', at);
    c.set('viewer', { ...(await identify(c, site, at)), ...ofSite });
    await next();
  });
  app.use(
    methodNotAllowed({
      app,
      onMethodNotAllowed(c, methods) {
        c.header('Allow', methods.join(', '));
        return sendMessage(
          c,
          405,
          'Nothing happened',
          'This address does not accept that kind of request.',
        );
      },
    }),
  );
  addSignInRoutes(app, site);
  addOwnKeyRoutes(app, site);
  addModerationRoutes(app, site);
  app.notFound((c) => sendMessage(c, 404, 'Page not found', 'There is nothing at this address.'));
  app.onError(async (error, c) => {
    if (error instanceof HTTPException && error.status === 404) return c.notFound();
    if (error instanceof HTTPException && error.status === 403) {
      const text = 'This form came from another site, so nothing was changed.';
      return sendMessage(c, 403, 'Nothing was changed', text);
    }
    if (error instanceof SiteKeysUnreachable) {
      const text = 'We cannot check right now whether you are signed in. Try again in a minute.';
      return sendMessage(c, 503, 'Try again in a minute', text);
    }
    // The query and the form are never logged: they may contain tokens and what people typed.
    log.error({ err: error, method: c.req.method, path: c.req.path }, 'a request failed');
    if (await isAway(site.database, error)) {
      c.header('Retry-After', '60');
      const text = 'Our database does not answer right now. Try again in a minute.';
      return sendMessage(c, 503, 'Try again in a minute', text);
    }
    const text = 'That is our fault, and it is in our logs. Try again in a few minutes.';
    return sendMessage(c, 500, 'Something went wrong', text);
  });
  return app;
}
