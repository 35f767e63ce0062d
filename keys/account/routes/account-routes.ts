/** The routes for users and their requests: the page of their keys, to request a key, to edit a request. */
import { findKey } from '../../lifecycle/key-lists.ts';
import { editRequest, type RequestText, requestKey } from '../../lifecycle/own-requests.ts';
import { Refusal } from '../../lifecycle/transition.ts';
import { ANY_KEY, ownKeyPath, PATHS } from '../../paths.ts';
import type { Notice } from '../pages/layout.ts';
import { type Draft, editPage } from '../pages/request-form.ts';
import { fieldOf, readForm, wholeNumber } from './forms.ts';
import { needsAccount } from './guards.ts';
import { attempt, ownKeyOf, showKeys } from './own-keys-reply.ts';
import { doneNotice, redirect, sendPage, statusOf } from './replies.ts';
import type { App, FormVisit, Site } from './site.ts';

/** The notices for `?done=…` in an address. */
const DONE: Readonly<Record<string, string>> = {
  requested: 'Your request is sent. We e-mail you when a moderator has decided.',
  edit: 'Your changes are saved.',
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
      await requestKey(database, { ...textOf(draft), accountId: account.id, at });
      return redirect(c, `${PATHS.keys}?done=requested`);
    };
    return attempt(c, site, c.var, sendRequest, draft);
  });
  addEditing(app, site);
}

/** Adds the page to edit a request, and the action of its form. */
function addEditing(app: App, { database, defaultLimit }: Site): void {
  const path = ownKeyPath(ANY_KEY, 'edit');

  app.get(path, needsAccount, async (c) => {
    const { id } = ownKeyOf(c, c.var);
    const key = await findKey(database, id);
    if (key?.account_id !== c.var.account.id) return c.notFound();
    // An old link: the request was decided, so there is nothing to edit.
    if (key.state !== 'pending') return redirect(c, PATHS.keys);
    const draft = {
      name: key.name ?? '',
      purpose: key.purpose,
      websiteUrl: key.website_url,
      wantedLimit: String(key.wanted_limit ?? defaultLimit),
    };
    return sendPage(c, 200, editPage({ viewer: c.var.viewer, id, defaultLimit, draft }));
  });
  app.post(path, needsAccount, readForm, async (c) => {
    const own = ownKeyOf(c, c.var);
    const draft = draftOf(c.var);
    try {
      await editRequest(database, { ...own, ...textOf(draft) });
      return redirect(c, `${PATHS.keys}?done=edit`);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (error.kind === 'missing') return c.notFound();
      const notice: Notice = { kind: 'refused', text: error.message };
      const form = { viewer: c.var.viewer, id: own.id, defaultLimit, draft, notice };
      return sendPage(c, statusOf(error), editPage(form));
    }
  });
}

function draftOf({ form }: FormVisit): Draft {
  return {
    name: fieldOf(form, 'name').trim(),
    purpose: fieldOf(form, 'purpose').trim(),
    websiteUrl: fieldOf(form, 'website_url').trim(),
    wantedLimit: fieldOf(form, 'wanted_limit').trim(),
  };
}

/** The content of the form as the lifecycle reads it. An empty limit is none. */
function textOf({ wantedLimit, ...text }: Draft): RequestText {
  return { ...text, wantedLimit: wholeNumber(wantedLimit) };
}
