/** Responds with the page of an account's keys, also after an action that was refused. */
import type { Context } from 'hono';
import { listKeysOf } from '../../lifecycle/key-lists.ts';
import { usageOf } from '../../lifecycle/key-usage.ts';
import type { OwnKey } from '../../lifecycle/own-keys.ts';
import { hasMostPending } from '../../lifecycle/own-requests.ts';
import { Refusal } from '../../lifecycle/refusal.ts';
import { accountPage } from '../pages/account-page.ts';
import type { Notice } from '../pages/layout.ts';
import type { Draft } from '../pages/request-form.ts';
import { CHART_DAYS } from '../pages/usage-chart.ts';
import { keyIdOf, pageOf, type RefusalStatus, refuse, sendPage, sliceFor } from './replies.ts';
import type { AccountVisit, Site } from './site.ts';

const KEYS_PER_PAGE = 20;

/** The key that the path of a request names. */
export function ownKeyOf(c: Context, { account, at }: AccountVisit): OwnKey {
  return { id: keyIdOf(c), accountId: account.id, at };
}

/** @param draft what the form to request a key contained, if it was refused */
export async function showKeys(
  c: Context,
  site: Site,
  { viewer, account, at: now }: AccountVisit,
  {
    status = 200,
    ...rest
  }: { status?: 200 | RefusalStatus; notice?: Notice | undefined; draft?: Draft | undefined },
): Promise<Response> {
  const { database, defaultLimit } = site;
  const page = pageOf(c, 'page');
  const found = await listKeysOf(database, account.id, sliceFor(page, KEYS_PER_PAGE));
  const keys = found.slice(0, KEYS_PER_PAGE);
  const ids = keys.map(({ id }) => id);
  const usage = await usageOf(database, ids, { days: CHART_DAYS, now });
  return sendPage(
    c,
    status,
    accountPage({
      viewer,
      keys,
      page,
      hasMore: found.length > KEYS_PER_PAGE,
      mayRequest: !(await hasMostPending(database, account.id)),
      usage,
      now,
      defaultLimit,
      ...rest,
    }),
  );
}

/** Performs an action. If it is refused, shows the page of keys with the reason at the top. */
export async function attempt(
  c: Context,
  site: Site,
  visit: AccountVisit,
  act: () => Promise<Response>,
  draft?: Draft,
): Promise<Response> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const notice: Notice = { kind: 'refused', text: error.message };
    return showKeys(c, site, visit, { status: refuse(c, error), notice, draft });
  }
}
