/**
 * The routes for the actions of users on their own keys. Each action passes the user's account, and a
 * key of another account is treated as if it did not exist.
 */
import type { Context } from 'hono';
import { type OwnKey, revealKey, revokeOwnKey, rotateKey } from '../../lifecycle/own-keys.ts';
import { renameKey, withdrawRequest } from '../../lifecycle/own-requests.ts';
import { ANY_KEY, ownKeyPath, PATHS } from '../../paths.ts';
import { fieldOf, readForm } from './forms.ts';
import { needsAccount } from './guards.ts';
import { showNewKey } from './new-key-reply.ts';
import { attempt, ownKeyOf } from './own-keys-reply.ts';
import { redirect } from './replies.ts';
import type { AccountVisit, App, FormVisit, Site } from './site.ts';

/** Performs an action and responds to it. */
type Act = (c: Context, own: OwnKey, visit: AccountVisit & FormVisit) => Promise<Response>;

export function addOwnKeyRoutes(app: App, site: Site): void {
  const { database, publicUrl } = site;
  /** Adds the route of an action. If the action is refused, the page of keys says why. */
  const add = (action: Parameters<typeof ownKeyPath>[1], act: Act) =>
    app.post(ownKeyPath(ANY_KEY, action), needsAccount, readForm, (c) =>
      attempt(c, site, c.var, () => act(c, ownKeyOf(c, c.var), c.var)),
    );
  const done = (c: Context, action: string) => redirect(c, `${PATHS.keys}?done=${action}`);

  add('reveal', async (c, own, { viewer }) => {
    const { key } = await revealKey(database, own);
    return showNewKey(c, site, { viewer, key });
  });
  add('rotate', async (c, own, { viewer, form }) => {
    // The form contains the prefix of the key to replace. If a reload sends the form again, that key
    // no longer exists, and the new key is not replaced.
    const prefix = fieldOf(form, 'prefix');
    const { key } = await rotateKey(database, { ...own, prefix, publicUrl });
    return showNewKey(c, site, { viewer, key, isRotation: true });
  });
  add('rename', async (c, own, { form }) => {
    await renameKey(database, { ...own, name: fieldOf(form, 'name') });
    return done(c, 'rename');
  });
  add('withdraw', async (c, own) => {
    await withdrawRequest(database, own);
    return done(c, 'withdraw');
  });
  add('revoke', async (c, own) => {
    await revokeOwnKey(database, { ...own, publicUrl });
    return done(c, 'revoke');
  });
}
