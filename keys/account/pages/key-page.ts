/** The page of one key for moderators: its details, the actions for it, and its history. */
import type { KeyEvent } from '../../lifecycle/history.ts';
import type { KeyWithAccount } from '../../lifecycle/key-lists.ts';
import type { DayOfUse } from '../../lifecycle/key-usage.ts';
import { PATHS, reviewActionPath } from '../../paths.ts';
import { type Html, html } from './html.ts';
import {
  decisions,
  facts,
  limitInput,
  limitOf,
  nameOf,
  prefixOf,
  quotaInput,
  reasonInput,
  stateBadge,
} from './key-parts.ts';
import { day, makePage, moment, type Notice, tokenField, type Viewer } from './layout.ts';
import { usageChart } from './usage-chart.ts';

/** An event with the name of its account; null if an operator acted, or the account is deleted. */
export type NamedEvent = KeyEvent & { readonly actor_name: string | null };

export interface KeyPage {
  readonly viewer: Viewer;
  readonly key: KeyWithAccount;
  readonly events: readonly NamedEvent[];
  readonly usage: readonly DayOfUse[];
  readonly now: Date;
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
  suspended: 'Suspended',
  resumed: 'Resumed',
  revoked: 'Revoked',
  limit_changed: 'Limit changed',
  quota_changed: 'Daily quota changed',
};

export function keyPage(page: KeyPage): Html {
  const { viewer, key, events, usage, now, defaultLimit, notice } = page;
  return makePage({
    title: nameOf(key),
    viewer,
    notice,
    body: html`
      <p class="line">${stateBadge(key.state)} <a href="${PATHS.review}">All keys</a></p>
      ${facts(key, [
        limitOf(key),
        prefixOf(key),
        ['Reason', key.reason ?? undefined],
        ['Last use', day(key.last_used_on)],
      ])}
      ${usageChart(usage, { keyId: key.id, now })}
      ${key.state === 'pending' && decisions(key, viewer, defaultLimit)}
      ${key.state === 'approved' && changesOfApproved(key, viewer)}
      ${key.state === 'suspended' && changesOfSuspended(key, viewer)}
      <section aria-labelledby="history">
        <h2 id="history">History</h2>
        ${events.length === 0 ? html`<p>No history.</p>` : html`<ol class="history">${events.map(eventItem)}</ol>`}
      </section>`,
  });
}

function changesOfApproved(key: KeyWithAccount, viewer: Viewer): Html {
  const { id, limit_per_minute, daily_quota } = key;
  return html`<div class="decisions">
        <form method="post" action="${reviewActionPath(id, 'limit')}">
          ${tokenField(viewer)}
          ${limitInput(id, limit_per_minute)}
          <button>Change the limit</button>
        </form>
        <form method="post" action="${reviewActionPath(id, 'quota')}">
          ${tokenField(viewer)}
          ${quotaInput(id, daily_quota)}
          <button>Change the quota</button>
        </form>
        <form method="post" action="${reviewActionPath(id, 'revoke')}">
          ${tokenField(viewer)}
          ${reasonInput(id)}
          <button formaction="${reviewActionPath(id, 'suspend')}">Suspend key ${id}</button>
          <button class="danger">Revoke key ${id}</button>
        </form>
      </div>`;
}

function changesOfSuspended({ id }: KeyWithAccount, viewer: Viewer): Html {
  return html`<div class="decisions">
        <form method="post" action="${reviewActionPath(id, 'resume')}">
          ${tokenField(viewer)}
          <p>Requests with this key are refused.</p>
          <button>Resume key ${id}</button>
        </form>
        <form method="post" action="${reviewActionPath(id, 'revoke')}">
          ${tokenField(viewer)}
          ${reasonInput(id)}
          <button class="danger">Revoke key ${id}</button>
        </form>
      </div>`;
}

function eventItem(event: NamedEvent): Html {
  const { action, actor_id, reason, limit_per_minute } = event;
  const actor =
    actor_id === null ? 'the command line' : (event.actor_name ?? `account ${actor_id}`);
  return html`<li>
            <p><strong>${ACTION_NAMES[action]}</strong> by ${actor}, ${moment(event.at)}</p>
            ${limit_per_minute !== null && html`<p>${limit_per_minute} requests a minute</p>`}
            ${reason !== null && reason !== '' && html`<p class="text">${reason}</p>`}
          </li>`;
}
