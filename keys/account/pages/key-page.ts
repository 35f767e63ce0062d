/** One key as moderators see it: all that is known of it, what can be done to it, and its history. */
import type { KeyEvent } from '../../lifecycle/history.ts';
import type { KeyWithAccount } from '../../lifecycle/key-lists.ts';
import { type Html, html } from '../html.ts';
import { nameOf, stateBadge } from './account-page.ts';
import { day, makePage, moment, type Notice, PATHS, tokenField, type Viewer } from './layout.ts';
import { decisions, facts, limitInput, reasonInput } from './moderation-page.ts';

/** An event with the name of whoever did it; null where no account did. */
export type NamedEvent = KeyEvent & { readonly actor_name: string | null };

export interface KeyPage {
  readonly viewer: Viewer;
  readonly key: KeyWithAccount;
  readonly events: readonly NamedEvent[];
  readonly defaultLimit: number;
  readonly notice?: Notice | undefined;
}

const ACTION_NAMES: Readonly<Record<KeyEvent['action'], string>> = {
  requested: 'Requested',
  issued: 'Issued',
  approved: 'Approved',
  rejected: 'Rejected',
  revealed: 'Revealed',
  rotated: 'Rotated',
  revoked: 'Revoked',
  limit_changed: 'Limit changed',
};

export function keyPage({ viewer, key, events, defaultLimit, notice }: KeyPage): Html {
  const wasApproved = key.state === 'approved' || key.state === 'revoked';
  return makePage({
    title: nameOf(key),
    viewer,
    notice,
    body: html`
      <p class="line">${stateBadge(key.state)} <a href="${PATHS.moderation}">All keys</a></p>
      ${facts(key, [
        ['Limit', wasApproved ? `${key.limit_per_minute} requests a minute` : undefined],
        [
          'Starts with',
          key.key_prefix === null ? undefined : html`<code>${key.key_prefix}…</code>`,
        ],
        ['Reason', key.reason ?? undefined],
        ['Last use', day(key.last_used_on)],
      ])}
      ${key.state === 'pending' && decisions(key, viewer, defaultLimit)}
      ${key.state === 'approved' && movesOfApproved(key, viewer)}
      <section aria-labelledby="history">
        <h2 id="history">History</h2>
        ${
          events.length === 0
            ? html`<p>Nothing was written down.</p>`
            : html`<ol class="history">${events.map((event) => eventItem(event))}</ol>`
        }
      </section>`,
  });
}

function movesOfApproved(key: KeyWithAccount, viewer: Viewer): Html {
  const { id } = key;
  return html`<div class="decisions">
        <form method="post" action="${PATHS.moderation}/${id}/limit">
          ${tokenField(viewer)}
          <label for="limit-${id}">Requests a minute</label>
          ${limitInput(id, key.limit_per_minute)}
          <button>Change the limit</button>
        </form>
        <form method="post" action="${PATHS.moderation}/${id}/revoke">
          ${tokenField(viewer)}
          ${reasonInput(`reason-${id}`)}
          <button class="danger">Revoke key ${id}</button>
        </form>
      </div>`;
}

function eventItem({
  action,
  at,
  actor_id,
  actor_name,
  reason,
  limit_per_minute,
}: NamedEvent): Html {
  const actor = actor_id === null ? 'the command line' : (actor_name ?? `account ${actor_id}`);
  return html`<li>
            <p><strong>${ACTION_NAMES[action] ?? action}</strong> by ${actor}, ${moment(at)}</p>
            ${limit_per_minute !== null && html`<p>${limit_per_minute} requests a minute</p>`}
            ${reason !== null && reason !== '' && html`<p class="text">${reason}</p>`}
          </li>`;
}
