/** The page of one key for moderators: its details, the actions for it, and its history. */

import { type Html, html } from '../../../pages/html.ts';
import { shownNumber } from '../../../pages/shown-values.ts';
import type { EventAction, KeyEvent } from '../../lifecycle/history.ts';
import type { KeyWithAccount } from '../../lifecycle/key-lists.ts';
import type { DayOfUse } from '../../lifecycle/key-usage.ts';
import { PATHS, reviewActionPath } from '../../paths.ts';
import {
  decisions,
  facts,
  limitInput,
  limitOf,
  numberOf,
  prefixOf,
  reasonInput,
  stateBadge,
} from './key-parts.ts';
import { day, makePage, moment, type Notice, tokenField, type Viewer } from './layout.ts';
import { usageChart } from './usage-chart.ts';

const ACTION_NAMES: Readonly<Record<EventAction, string>> = {
  requested: 'Requested',
  withdrawn: 'Withdrawn',
  renamed: 'Renamed',
  issued: 'Issued',
  approved: 'Approved',
  rejected: 'Rejected',
  revealed: 'Revealed',
  rotated: 'Rotated',
  revoked: 'Revoked',
  limit_changed: 'Limit changed',
};

/** An event with the name of its account; null if an operator acted, or the account was removed. */
export type NamedEvent = KeyEvent & { readonly actor_name: string | null };

export interface KeyPage {
  readonly viewer: Viewer;
  readonly key: KeyWithAccount;
  /** The last events, oldest first. */
  readonly events: readonly NamedEvent[];
  /** Whether there were events before them. */
  readonly hasEarlier: boolean;
  readonly usage: readonly DayOfUse[];
  readonly now: Date;
  readonly defaultLimit: number;
  readonly notice?: Notice | undefined;
}

export function keyPage(page: KeyPage): Html {
  const { viewer, key, events, usage, now, defaultLimit, notice } = page;
  return makePage({
    title: numberOf(key),
    viewer,
    notice,
    body: html`
      <p class="line">${stateBadge(key.state)} <a href="${PATHS.review}">All keys</a></p>
      ${facts(key, [
        limitOf(key),
        prefixOf(key),
        ['Reason', key.reason ?? undefined],
        ['Last used', day(key.last_used_on)],
      ])}
      ${usageChart(usage, { keyId: key.id, now })}
      ${key.state === 'pending' && decisions(key, viewer, defaultLimit)}
      ${key.state === 'approved' && changesOfApproved(key, viewer)}
      <section aria-labelledby="history">
        <h2 id="history">History</h2>
        ${page.hasEarlier && html`<p>Only the last ${events.length} events: <code>cover-catalogue keys history ${key.id}</code> prints all.</p>`}
        ${events.length === 0 ? html`<p>Nothing is recorded.</p>` : html`<ol class="history">${events.map(eventItem)}</ol>`}
      </section>`,
  });
}

function changesOfApproved(key: KeyWithAccount, viewer: Viewer): Html {
  const { id, limit_per_minute } = key;
  return html`<div class="decisions">
        <form method="post" action="${reviewActionPath(id, 'limit')}">
          ${tokenField(viewer)}
          ${limitInput(id, limit_per_minute)}
          <button>Change limit</button>
        </form>
        <form method="post" action="${reviewActionPath(id, 'revoke')}">
          ${tokenField(viewer)}
          ${reasonInput(id)}
          <button class="danger">Revoke key ${id}</button>
        </form>
      </div>`;
}

function eventItem(event: NamedEvent): Html {
  const { action, at, reason, limit_per_minute } = event;
  return html`<li>
            <p><strong>${ACTION_NAMES[action]}</strong> by ${actorOf(event)}, ${moment(at)}</p>
            ${limit_per_minute !== null && html`<p>${shownNumber(limit_per_minute)} requests per minute</p>`}
            ${reason !== null && reason !== '' && html`<p class="text">${reason}</p>`}
          </li>`;
}

function actorOf({ actor_id, actor_name }: NamedEvent): string {
  return actor_id === null ? 'an operator' : (actor_name ?? `account ${actor_id}`);
}
