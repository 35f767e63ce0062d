/** What happened to a key: as a list for moderators, and folded, without names, for its owner. */

import { type Html, html } from '../../../pages/html.ts';
import { shownNumber } from '../../../pages/shown-values.ts';
import type { EventAction, KeyEvent } from '../../lifecycle/history.ts';
import { moment } from './layout.ts';

const ACTION_NAMES: Readonly<Record<EventAction, string>> = {
  requested: 'Requested',
  edited: 'Request edited',
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

/** The history for the owner of a key: it tells the owner's actions from those of others. */
export function historyOf(
  events: readonly KeyEvent[],
  { keyId, ownerId }: { readonly keyId: number; readonly ownerId: number | null },
): Html | undefined {
  if (events.length === 0) return undefined;
  const actorOf = ({ actor_id }: KeyEvent) => {
    if (actor_id === null) return 'an operator';
    return actor_id === ownerId ? 'you' : 'a moderator';
  };
  return html`<details class="past">
            <summary>History<span class="unseen"> of key ${keyId}</span></summary>
            ${eventList(events, actorOf)}
          </details>`;
}

/** @param actorOf who acted, in words */
export function eventList<E extends KeyEvent>(
  events: readonly E[],
  actorOf: (event: E) => string,
): Html {
  return html`<ol class="history">${events.map((event) => eventItem(event, actorOf(event)))}</ol>`;
}

function eventItem({ action, at, reason, limit_per_minute }: KeyEvent, actor: string): Html {
  return html`<li>
            <p><strong>${ACTION_NAMES[action]}</strong> by ${actor}, ${moment(at)}</p>
            ${limit_per_minute !== null && html`<p>${shownNumber(limit_per_minute)} requests per minute</p>`}
            ${reason !== null && reason !== '' && html`<p class="text">${reason}</p>`}
          </li>`;
}
