/**
 * The routes of users: the page of their keys, the form to request one, and the actions on a key. Each
 * action passes the user's account, and a key of another account is treated as if it did not exist.
 */
import type { Context } from 'hono';
import type { Database } from '../../../lib/database/database.ts';
import { hashKey } from '../../../lib/format/api-key.ts';
import { timeLimit } from '../../../lib/program/time-limit.ts';
import { eventsOfEach } from '../../lifecycle/history.ts';
import { listKeysOf } from '../../lifecycle/key-lists.ts';
import { usageOf } from '../../lifecycle/key-usage.ts';
import {
  endOwnOldKey,
  findLimited,
  hasMostPending,
  type OwnKey,
  renameKey,
  requestHigherLimit,
  requestKey,
  revealKey,
  revokeOwnKey,
  rotateKey,
  withdrawRequest,
} from '../../lifecycle/own-keys.ts';
import { ANY_KEY, type OwnAction, ownKeyPath, PATHS } from '../../paths.ts';
import { OVERLAP_HOURS } from '../../tables/values.ts';
import { accountPage, keyShownPage, MOST_EVENTS } from '../pages/account-pages.ts';
import { CHART_DAYS } from '../pages/usage-chart.ts';
import { fieldOf, limitIn, needsAccount, readForm } from './forms.ts';
import {
  type AccountVisit,
  type App,
  attempt,
  doneNotice,
  keyIdOf,
  type Outcome,
  pageOf,
  redirect,
  type Site,
  sendPage,
  sliceFor,
} from './replies.ts';

const KEYS_PER_PAGE = 20;
/** How long a change of a key takes at most to reach the API. */
const LONGEST_WAIT_MS = 5_000;

/** The notices for `?done=…` in an address. */
const DONE: Readonly<Record<string, string>> = {
  requested: 'Your request is sent. We e-mail you when a moderator has decided.',
  withdraw: 'The request is withdrawn.',
  rename: 'The name is saved.',
  'end-old': 'The old key is ended. It stops working within a few seconds.',
  revoke: 'The key is revoked. It stops working within a few seconds.',
};

/** Each takes from the request what it needs. Some return a new key. */
const ACTIONS: Readonly<Record<OwnAction, Act>> = {
  reveal: revealKey,
  rotate: rotateKey,
  'end-old': endOwnOldKey,
  rename: renameKey,
  withdraw: withdrawRequest,
  revoke: revokeOwnKey,
};
type Act = (database: Database, own: OwnKey & OwnForm) => Promise<unknown>;
interface OwnForm {
  readonly publicUrl: string;
  readonly name: string;
  /** The beginning of the key to replace. If a reload sends the form again, that key no longer exists. */
  readonly prefix: string;
  /** Whether the replaced key works for some time. */
  readonly keepsOld: boolean;
}

export function addOwnKeyRoutes(app: App, site: Site): void {
  const { database, publicUrl } = site;
  app.get(PATHS.account, (c) => redirect(c, PATHS.keys));
  app.get(`${PATHS.account}/`, (c) => redirect(c, PATHS.keys));
  app.get(PATHS.keys, needsAccount, (c) =>
    showKeys(c, site, c.var, { notice: doneNotice(c, DONE) }),
  );
  app.post(PATHS.keys, needsAccount, readForm, (c) => {
    const { account, at, form } = c.var;
    const act = async () => {
      const request = { accountId: account.id, purpose: fieldOf(form, 'purpose'), at };
      if (form.has('limit-of')) {
        const limitOf = keyIdIn(fieldOf(form, 'limit-of'));
        await requestHigherLimit(database, { ...request, limitOf, limit: limitIn(form) });
      } else {
        const websiteUrl = fieldOf(form, 'website_url');
        await requestKey(database, { ...request, websiteUrl, name: fieldOf(form, 'name') });
      }
      return redirect(c, `${PATHS.keys}?done=requested`);
    };
    return attempt(c, form, act, (outcome) => showKeys(c, site, c.var, outcome));
  });

  for (const [action, act] of Object.entries(ACTIONS)) {
    app.post(ownKeyPath(ANY_KEY, action as OwnAction), needsAccount, readForm, (c) => {
      const { viewer, account, at, form } = c.var;
      const own = { id: keyIdOf(c), accountId: account.id, at, publicUrl };
      const [name, prefix] = [fieldOf(form, 'name'), fieldOf(form, 'prefix')];
      const run = async () => {
        const keepsOld = fieldOf(form, 'old') === 'keep';
        const typed = { name, prefix, keepsOld };
        const { key }: { key?: string } = Object(await act(database, { ...own, ...typed }));
        if (key === undefined) return redirect(c, `${PATHS.keys}?done=${action}`);
        const isAccepted = await waitUntilAccepted(site, key);
        const hours = keepsOld ? OVERLAP_HOURS : 0;
        const oldKeyHours = action === 'rotate' ? hours : undefined;
        return sendPage(c, 200, keyShownPage({ viewer, publicUrl, isAccepted, oldKeyHours, key }));
      };
      return attempt(c, form, run, (outcome) => showKeys(c, site, c.var, outcome));
    });
  }
}

/** The id of a key in a form or a query; 0, which no key has, if it is not one. */
function keyIdIn(text: string): number {
  return /^\d{1,15}$/.test(text) ? Number(text) : 0;
}

/**
 * Waits until the API accepts a key, so that the command on its page works at once. Asks the proxy at the
 * address that clients use. Only the hash of the key is sent.
 * @returns false if the API does not accept the key in time, or does not answer
 */
async function waitUntilAccepted({ publicUrl, pauseForApi }: Site, key: string): Promise<boolean> {
  const signal = timeLimit(LONGEST_WAIT_MS);
  try {
    for (;;) {
      const address = `${publicUrl}/key-status/${hashKey(key)}`;
      const response = await fetch(address, { signal, redirect: 'error' });
      const { works }: { works?: unknown } = Object(await response.json());
      if (works !== false) return works === true;
      await pauseForApi();
    }
  } catch {
    // Such as a proxy that is not running, or the end of the time.
    return false;
  }
}

async function showKeys(
  c: Context,
  { database, defaultLimit }: Site,
  { viewer, account, at: now }: AccountVisit,
  { status = 200, ...outcome }: Outcome,
): Promise<Response> {
  const page = pageOf(c, 'page');
  const found = await listKeysOf(database, account.id, sliceFor(page, KEYS_PER_PAGE));
  const keys = found.slice(0, KEYS_PER_PAGE);
  const ids = keys.map(({ id }) => id);
  const limited = c.req.query('limit-of') ?? outcome.refused?.form.get('limit-of');
  const shown = accountPage({
    viewer,
    keys,
    page,
    hasMore: found.length > KEYS_PER_PAGE,
    mayRequest: !(await hasMostPending(database, account.id)),
    usage: await usageOf(database, ids, { days: CHART_DAYS, now }),
    events: await eventsOfEach(database, ids, MOST_EVENTS + 1),
    limitOf: limited ? await findLimited(database, account.id, keyIdIn(limited)) : undefined,
    now,
    defaultLimit,
    ...outcome,
  });
  return sendPage(c, status, shown);
}
