/** What an account does with its own keys. Each action names the account: another's key is not there. */

import { listKeysOf } from '../../lifecycle/key-lists.ts';
import { requestKey, revealKey, revokeOwnKey, rotateKey } from '../../lifecycle/own-keys.ts';
import { RefusedMove } from '../../lifecycle/requests.ts';
import type { Account } from '../../tables/accounts.ts';
import { fieldOf } from '../form-body.ts';
import { accountPage, type Draft } from '../pages/account-page.ts';
import { keyShownPage } from '../pages/key-shown.ts';
import { type Notice, PATHS } from '../pages/layout.ts';
import { type Ask, page, type Reply, type Route, redirect, type Site } from '../route.ts';

/** What the address says was just done, in words. */
const DONE: Readonly<Record<string, string>> = {
  requested: 'Your request is under review. You get an e-mail when it is decided.',
  revoked: 'The key is revoked.',
};

export function accountRoutes(site: Site): Route[] {
  const { database } = site;

  async function showKeys({ viewer }: Ask, status = 200, notice?: Notice, draft?: Draft) {
    const keys = await listKeysOf(database, accountOf(viewer).id);
    return page(status, accountPage({ viewer, keys, notice, draft }));
  }

  /** Makes a move; where it is refused, shows why above the keys as they are. */
  async function attempt(ask: Ask, move: () => Promise<Reply>, draft?: Draft): Promise<Reply> {
    try {
      return await move();
    } catch (error) {
      if (!(error instanceof RefusedMove)) throw error;
      return showKeys(ask, statusOf(error), { kind: 'refused', text: error.message }, draft);
    }
  }

  const show = (ask: Ask, key: string) =>
    page(200, keyShownPage({ viewer: ask.viewer, key, publicUrl: site.publicUrl }));

  return [
    { method: 'GET', pattern: /^\/account\/?$/, access: 'anyone', act: () => redirect(PATHS.keys) },
    {
      method: 'GET',
      pattern: /^\/account\/api-keys$/,
      access: 'account',
      act: (ask) => showKeys(ask, 200, doneNotice(ask.query, DONE)),
    },
    {
      method: 'POST',
      pattern: /^\/account\/api-keys$/,
      access: 'account',
      act(ask) {
        const purpose = fieldOf(ask.form, 'purpose').trim();
        const websiteUrl = fieldOf(ask.form, 'website_url').trim();
        const request = { accountId: accountOf(ask.viewer).id, purpose, websiteUrl, at: ask.at };
        return attempt(
          ask,
          async () => {
            await requestKey(database, request);
            return redirect(`${PATHS.keys}?done=requested`);
          },
          { purpose, websiteUrl },
        );
      },
    },
    {
      method: 'POST',
      pattern: /^\/account\/api-keys\/(\d{1,15})\/reveal$/,
      access: 'account',
      act: (ask) =>
        attempt(ask, async () => show(ask, (await revealKey(database, ownKey(ask))).key)),
    },
    {
      method: 'POST',
      pattern: /^\/account\/api-keys\/(\d{1,15})\/rotate$/,
      access: 'account',
      act: (ask) =>
        attempt(ask, async () => {
          // The form names the key that it replaces: sent again by a reload it replaces no other.
          const prefix = fieldOf(ask.form, 'prefix');
          return show(ask, (await rotateKey(database, { ...ownKey(ask), prefix })).key);
        }),
    },
    {
      method: 'POST',
      pattern: /^\/account\/api-keys\/(\d{1,15})\/revoke$/,
      access: 'account',
      act: (ask) =>
        attempt(ask, async () => {
          await revokeOwnKey(database, { ...ownKey(ask), publicUrl: site.publicUrl });
          return redirect(`${PATHS.keys}?done=revoked`);
        }),
    },
  ];
}

/** The notice for `?done=…`; undefined for what the pages never say. */
export function doneNotice(
  query: URLSearchParams,
  texts: Readonly<Record<string, string>>,
): Notice | undefined {
  const done = query.get('done') ?? '';
  return Object.hasOwn(texts, done) ? { kind: 'done', text: texts[done] } : undefined;
}

/** The status that says why a move was refused. */
export function statusOf({ kind }: RefusedMove): number {
  return { invalid: 422, missing: 404, conflict: 409 }[kind];
}

function accountOf({ account }: Ask['viewer']): Account {
  if (account === undefined) throw new Error('An action for accounts was called without one.');
  return account;
}

function ownKey({ parts, viewer, at }: Ask) {
  return { id: Number(parts[0]), accountId: accountOf(viewer).id, at };
}
