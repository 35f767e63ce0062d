/** The routes for users and their requests: the page of their keys, and to request a key. */
import { requestKey } from '../../lifecycle/own-requests.ts';
import { PATHS } from '../../paths.ts';
import type { Draft } from '../pages/request-form.ts';
import { fieldOf, readForm } from './forms.ts';
import { needsAccount } from './guards.ts';
import { attempt, showKeys } from './own-keys-reply.ts';
import { doneNotice, redirect } from './replies.ts';
import type { App, FormVisit, Site } from './site.ts';

/** The notices for `?done=…` in an address. */
const DONE: Readonly<Record<string, string>> = {
  requested: 'Your request is sent. We e-mail you when a moderator has decided.',
  withdraw: 'The request is withdrawn.',
  rename: 'The name is saved.',
  revoke: 'The key is revoked. It stops working within a few seconds.',
};

export function addAccountRoutes(app: App, site: Site): void {
  const { database } = site;
  app.get(PATHS.account, (c) => redirect(c, PATHS.keys));
  app.get(`${PATHS.account}/`, (c) => redirect(c, PATHS.keys));
  app.get(PATHS.keys, needsAccount, (c) =>
    showKeys(c, site, c.var, { notice: doneNotice(c, DONE) }),
  );
  app.post(PATHS.keys, needsAccount, readForm, (c) => {
    const { account, at } = c.var;
    const draft = draftOf(c.var);
    const sendRequest = async () => {
      await requestKey(database, { ...draft, accountId: account.id, at });
      return redirect(c, `${PATHS.keys}?done=requested`);
    };
    return attempt(c, site, c.var, sendRequest, draft);
  });
}

function draftOf({ form }: FormVisit): Draft {
  return {
    name: fieldOf(form, 'name').trim(),
    purpose: fieldOf(form, 'purpose').trim(),
    websiteUrl: fieldOf(form, 'website_url').trim(),
  };
}
