/**
 * The routes for users and their own keys. Each action passes the user's account, and a key of another
 * account is treated as if it did not exist.
 */
import type { Context } from 'hono';
import { listKeysOf } from '../../lifecycle/key-lists.ts';
import { usageOf } from '../../lifecycle/key-usage.ts';
import { requestKey, revealKey, revokeOwnKey, rotateKey } from '../../lifecycle/own-keys.ts';
import { Refusal } from '../../lifecycle/transition.ts';
import { ANY_KEY, ownKeyPath, PATHS } from '../../paths.ts';
import { accountPage, type Draft } from '../pages/account-page.ts';
import { keyShownPage } from '../pages/key-shown.ts';
import type { Notice } from '../pages/layout.ts';
import { CHART_DAYS } from '../pages/usage-chart.ts';
import { fieldOf, readForm } from './forms.ts';
import { needsAccount } from './guards.ts';
import {
  doneNotice,
  keyIdOf,
  type RefusalStatus,
  redirect,
  sendPage,
  statusOf,
} from './replies.ts';
import type { AccountVisit, App, Site } from './site.ts';

/** The notices for `?done=…` in an address. */
const DONE: Readonly<Record<string, string>> = {
  requested: 'Your request is under review. You will get an e-mail with the decision.',
  revoked: 'The key is revoked.',
};

export function addAccountRoutes(app: App, site: Site): void {
  const { database, publicUrl } = site;

  async function showKeys(
    c: Context,
    { viewer, account, at: now }: AccountVisit,
    status: 200 | RefusalStatus,
    notice?: Notice,
    draft?: Draft,
  ): Promise<Response> {
    const keys = await listKeysOf(database, account.id);
    const ids = keys.map(({ id }) => id);
    const usage = await usageOf(database, ids, { days: CHART_DAYS, now });
    return sendPage(c, status, accountPage({ viewer, keys, usage, now, notice, draft }));
  }

  /** Performs an action. If it is refused, shows the page of keys with the reason at the top. */
  async function attempt(
    c: Context,
    visit: AccountVisit,
    act: () => Promise<Response>,
    draft?: Draft,
  ): Promise<Response> {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return showKeys(c, visit, statusOf(error), { kind: 'refused', text: error.message }, draft);
    }
  }

  const ownKey = (c: Context, { account, at }: AccountVisit) => ({
    id: keyIdOf(c),
    accountId: account.id,
    at,
  });
  const showOnce = (c: Context, { viewer }: AccountVisit, key: string) =>
    sendPage(c, 200, keyShownPage({ viewer, key, publicUrl }));

  app.get(PATHS.account, (c) => redirect(c, PATHS.keys));
  app.get(`${PATHS.account}/`, (c) => redirect(c, PATHS.keys));
  app.get(PATHS.keys, needsAccount, (c) => showKeys(c, c.var, 200, doneNotice(c, DONE)));
  app.post(PATHS.keys, needsAccount, readForm, (c) => {
    const { account, form, at } = c.var;
    const purpose = fieldOf(form, 'purpose').trim();
    const websiteUrl = fieldOf(form, 'website_url').trim();
    const sendRequest = async () => {
      await requestKey(database, { accountId: account.id, purpose, websiteUrl, at });
      return redirect(c, `${PATHS.keys}?done=requested`);
    };
    return attempt(c, c.var, sendRequest, { purpose, websiteUrl });
  });
  app.post(ownKeyPath(ANY_KEY, 'reveal'), needsAccount, readForm, (c) =>
    attempt(c, c.var, async () => {
      const { key } = await revealKey(database, ownKey(c, c.var));
      return showOnce(c, c.var, key);
    }),
  );
  app.post(ownKeyPath(ANY_KEY, 'rotate'), needsAccount, readForm, (c) =>
    attempt(c, c.var, async () => {
      // The form contains the prefix of the key to replace. If a reload sends the form again, that
      // key no longer exists, and the new key is not replaced.
      const prefix = fieldOf(c.var.form, 'prefix');
      const { key } = await rotateKey(database, { ...ownKey(c, c.var), prefix });
      return showOnce(c, c.var, key);
    }),
  );
  app.post(ownKeyPath(ANY_KEY, 'revoke'), needsAccount, readForm, (c) =>
    attempt(c, c.var, async () => {
      await revokeOwnKey(database, { ...ownKey(c, c.var), publicUrl });
      return redirect(c, `${PATHS.keys}?done=revoked`);
    }),
  );
}
