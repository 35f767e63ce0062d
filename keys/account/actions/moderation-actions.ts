/** What moderators do: look at all requests and keys, decide, change limits, revoke. */

import { eventsOf } from '../../lifecycle/history.ts';
import {
  findKeyWithAccount,
  listKeysWithAccounts,
  pendingRequests,
} from '../../lifecycle/key-lists.ts';
import {
  approveRequest,
  changeLimit,
  KEY_STATES,
  RefusedMove,
  rejectRequest,
  revokeKey,
} from '../../lifecycle/requests.ts';
import { findAccount } from '../../tables/accounts.ts';
import { fieldOf } from '../form-body.ts';
import { keyPage } from '../pages/key-page.ts';
import { type Notice, PATHS } from '../pages/layout.ts';
import { messagePage } from '../pages/message-page.ts';
import { moderationPage } from '../pages/moderation-page.ts';
import { type Ask, page, type Reply, type Route, redirect, type Site } from '../route.ts';
import { doneNotice, statusOf } from './account-actions.ts';

const PER_PAGE = 50;
const LAST_PAGE = 100_000;

const DONE: Readonly<Record<string, string>> = {
  approve: 'The request is approved. Its owner is told by e-mail.',
  reject: 'The request is rejected. Its owner is told by e-mail.',
  revoke: 'The key is revoked. Its owner is told by e-mail.',
  limit: 'The key has its new limit.',
};

export function moderationRoutes(site: Site): Route[] {
  const { database, defaultLimit, publicUrl } = site;

  async function showAll({ viewer, query }: Ask): Promise<Reply> {
    const state = KEY_STATES.find((known) => known === query.get('state'));
    const text = (query.get('text') ?? '').trim().slice(0, 200);
    const asked = Number(query.get('page') ?? 1);
    const number = Number.isInteger(asked) && asked >= 1 && asked <= LAST_PAGE ? asked : 1;
    const found = await listKeysWithAccounts(database, {
      state,
      text,
      // One more tells whether there is a further page.
      limit: PER_PAGE + 1,
      offset: (number - 1) * PER_PAGE,
    });
    return page(
      200,
      moderationPage({
        viewer,
        pending: await pendingRequests(database),
        keys: found.slice(0, PER_PAGE),
        hasMore: found.length > PER_PAGE,
        filter: { state, text, page: number },
        defaultLimit,
        notice: doneNotice(query, DONE),
      }),
    );
  }

  async function showKey({ viewer, parts }: Ask, status: number, notice?: Notice): Promise<Reply> {
    const key = await findKeyWithAccount(database, Number(parts[0]));
    if (key === undefined) {
      return page(404, messagePage(viewer, 'Not found', 'There is no such key.'));
    }
    const events = await eventsOf(database, key.id);
    const names = new Map<number, string | null>();
    for (const { actor_id } of events) {
      if (actor_id === null || names.has(actor_id)) continue;
      names.set(actor_id, (await findAccount(database, actor_id))?.name ?? null);
    }
    const named = events.map((event) => ({
      ...event,
      actor_name: names.get(event.actor_id ?? 0) ?? null,
    }));
    return page(status, keyPage({ viewer, key, events: named, defaultLimit, notice }));
  }

  const moves: Readonly<Record<string, (ask: Ask, id: number, by: number) => Promise<void>>> = {
    approve: ({ form, at }, id, by) =>
      approveRequest(database, id, { limit: limitOf(form), by, at, publicUrl }),
    reject: ({ form, at }, id, by) =>
      rejectRequest(database, id, { reason: fieldOf(form, 'reason').trim(), by, at, publicUrl }),
    revoke: ({ form, at }, id, by) =>
      revokeKey(database, id, { reason: fieldOf(form, 'reason').trim(), by, at, publicUrl }),
    limit: ({ form, at }, id, by) => changeLimit(database, id, { limit: limitOf(form), by, at }),
  };

  return [
    {
      method: 'GET',
      pattern: /^\/moderation\/?$/,
      access: 'anyone',
      act: () => redirect(PATHS.moderation),
    },
    { method: 'GET', pattern: /^\/moderation\/api-keys$/, access: 'moderator', act: showAll },
    {
      method: 'GET',
      pattern: /^\/moderation\/api-keys\/(\d{1,15})$/,
      access: 'moderator',
      act: (ask) => showKey(ask, 200, doneNotice(ask.query, DONE)),
    },
    ...Object.entries(moves).map(
      ([name, move]): Route => ({
        method: 'POST',
        pattern: new RegExp(`^/moderation/api-keys/(\\d{1,15})/${name}$`),
        access: 'moderator',
        async act(ask) {
          const id = Number(ask.parts[0]);
          try {
            await move(ask, id, ask.viewer.account?.id as number);
          } catch (error) {
            if (!(error instanceof RefusedMove)) throw error;
            return showKey(ask, statusOf(error), { kind: 'refused', text: error.message });
          }
          const isDecision = name === 'approve' || name === 'reject';
          return redirect(`${PATHS.moderation}${isDecision ? '' : `/${id}`}?done=${name}`);
        },
      }),
    ),
  ];
}

/** NaN, which no key may have, for what is no whole number. */
function limitOf(form: URLSearchParams): number {
  const text = fieldOf(form, 'limit').trim();
  return /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
}
