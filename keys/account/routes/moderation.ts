/** The routes for moderators: see all requests and keys, and decide about them. */
import type { Context } from 'hono';
import type { Database } from '../../../lib/database/database.ts';
import { KEY_STATES } from '../../../lib/format/api-key.ts';
import { eventsOf } from '../../lifecycle/history.ts';
import {
  findKeyWithAccount,
  listKeysWithAccounts,
  pendingRequests,
} from '../../lifecycle/key-lists.ts';
import { usageOf } from '../../lifecycle/key-usage.ts';
import {
  approveRequest,
  changeLimit,
  type ReviewWithReason,
  rejectRequest,
  revokeKey,
} from '../../lifecycle/reviews.ts';
import { listGivenUp } from '../../mail/outbox.ts';
import { ANY_KEY, PATHS, type ReviewAction, reviewActionPath, reviewPath } from '../../paths.ts';
import { keyPage, moderationPage } from '../pages/moderation-pages.ts';
import { CHART_DAYS } from '../pages/usage-chart.ts';
import { fieldOf, limitIn, needsAccount, needsModerator, readForm } from './forms.ts';
import {
  type App,
  attempt,
  doneNotice,
  keyIdOf,
  type Outcome,
  pageOf,
  redirect,
  type Site,
  sendMessage,
  sendPage,
  sliceFor,
  type Visit,
} from './replies.ts';

const PER_PAGE = 50;
/** How many events the page of a key shows. */
const MOST_EVENTS = 100;
/** How many of the e-mails that did not arrive are shown. */
const MOST_MAILS = 20;

const DONE: Readonly<Record<ReviewAction, string>> = {
  approve: 'Approved. The owner gets an e-mail.',
  reject: 'Rejected. The owner gets an e-mail with your reason.',
  revoke: 'Revoked. The owner gets an e-mail with your reason.',
  limit: 'The new limit is saved.',
};

/** Each takes from a decision what it needs. */
const ACTIONS: Readonly<Record<ReviewAction, Decide>> = {
  approve: approveRequest,
  reject: rejectRequest,
  revoke: revokeKey,
  limit: changeLimit,
};
type ModeratorDecision = ReviewWithReason & { readonly limit: number };
type Decide = (database: Database, id: number, decision: ModeratorDecision) => Promise<void>;

export function addModerationRoutes(app: App, site: Site): void {
  const { database, defaultLimit, publicUrl } = site;

  async function showKey(
    c: Context,
    { viewer, at: now }: Visit,
    { status = 200, ...outcome }: Outcome,
  ): Promise<Response> {
    const key = await findKeyWithAccount(database, keyIdOf(c));
    if (key === undefined) return sendMessage(c, 404, 'Not found', 'There is no such key.');
    const events = await eventsOf(database, key.id, MOST_EVENTS + 1);
    const usage = await usageOf(database, [key.id], { days: CHART_DAYS, now });
    const page = {
      viewer,
      key,
      usage: usage.get(key.id) ?? [],
      now,
      defaultLimit,
      ...outcome,
      events: events.slice(-MOST_EVENTS),
      hasEarlier: events.length > MOST_EVENTS,
    };
    return sendPage(c, status, keyPage(page));
  }

  app.get(PATHS.moderation, (c) => redirect(c, PATHS.review));
  app.get(`${PATHS.moderation}/`, (c) => redirect(c, PATHS.review));
  app.get(PATHS.review, needsAccount, needsModerator, (c) => showAll(c, c.var, site));
  app.get(reviewPath(ANY_KEY), needsAccount, needsModerator, (c) =>
    showKey(c, c.var, { notice: doneNotice(c, DONE) }),
  );
  for (const [action, decide] of Object.entries(ACTIONS)) {
    const path = reviewActionPath(ANY_KEY, action as ReviewAction);
    app.post(path, needsAccount, needsModerator, readForm, (c) => {
      const id = keyIdOf(c);
      const { account, at, form } = c.var;
      const reason = fieldOf(form, 'reason').trim();
      const decision = { by: account.id, at, publicUrl, reason, limit: limitIn(form) };
      const act = async () => {
        await decide(database, id, decision);
        const isDecision = action === 'approve' || action === 'reject';
        return redirect(c, `${isDecision ? PATHS.review : reviewPath(id)}?done=${action}`);
      };
      return attempt(c, form, act, (outcome) => showKey(c, c.var, outcome));
    });
  }
}

async function showAll(
  c: Context,
  { viewer }: Visit,
  { database, defaultLimit }: Site,
): Promise<Response> {
  const state = KEY_STATES.find((known) => known === c.req.query('state'));
  const text = (c.req.query('text') ?? '').trim().slice(0, 200);
  const page = pageOf(c, 'page');
  const found = await listKeysWithAccounts(database, { state, text }, sliceFor(page, PER_PAGE));
  const waitingPage = pageOf(c, 'waiting');
  const waiting = await pendingRequests(database, sliceFor(waitingPage, PER_PAGE));
  const markup = moderationPage({
    viewer,
    pending: waiting.slice(0, PER_PAGE),
    waitingPage,
    hasMoreWaiting: waiting.length > PER_PAGE,
    keys: found.slice(0, PER_PAGE),
    hasMore: found.length > PER_PAGE,
    filter: { state, text, page },
    givenUp: await listGivenUp(database, MOST_MAILS),
    defaultLimit,
    notice: doneNotice(c, DONE),
  });
  return sendPage(c, 200, markup);
}
