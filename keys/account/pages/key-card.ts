/** One key on the page of its owner: what is known about it, what it used, and the actions for it. */

import { type Html, html } from '../../../pages/html.ts';
import type { KeyRow } from '../../lifecycle/key-lists.ts';
import type { DayOfUse } from '../../lifecycle/key-usage.ts';
import { LONGEST_KEY_NAME } from '../../lifecycle/typed-text.ts';
import { ownKeyPath } from '../../paths.ts';
import { limitOf, nameOf, numberOf, ownerBadge, prefixOf, purposeOf } from './key-parts.ts';
import { type Description, day, descriptions, moment, tokenField, type Viewer } from './layout.ts';
import { usageChart } from './usage-chart.ts';

interface Card {
  readonly viewer: Viewer;
  readonly usage: readonly DayOfUse[];
  readonly now: Date;
}

/** How many characters of its purpose a key or request that has ended shows. */
const LONGEST_PURPOSE = 1_000;

export function keyCard(key: KeyRow, { viewer, usage, now }: Card): Html {
  const isOpen = key.state === 'pending' || key.state === 'approved';
  return html`<li class="card" id="key-${key.id}">
          <h3>${nameOf(key)} ${ownerBadge(key)}</h3>
          ${descriptions([
            ['Reason', key.reason ?? undefined],
            ...(key.name === null ? [] : [['Number', numberOf(key)] satisfies Description]),
            prefixOf(key),
            limitOf(key),
            ['Last used', day(key.last_used_on)],
            ...purposeOf(key, isOpen ? undefined : LONGEST_PURPOSE),
            ['Revoked', moment(key.revoked_at)],
          ])}
          ${usageChart(usage, { keyId: key.id, now })}
          ${actionsOf(key, viewer)}
        </li>`;
}

function actionsOf(key: KeyRow, viewer: Viewer): Html | undefined {
  const isPending = key.state === 'pending';
  const isWorking = key.state === 'approved';
  if (!isPending && !isWorking) return undefined;
  return html`<div class="actions">
          ${isWorking && key.revealed_at === null && revealForm(key, viewer)}
          ${isWorking && key.revealed_at !== null && rotateForm(key, viewer)}
          ${!isPending && renameForm(key, viewer)}
          ${isPending ? withdrawForm(key, viewer) : revokeForm(key, viewer)}
          </div>`;
}

function revealForm({ id }: KeyRow, viewer: Viewer): Html {
  return html`<form method="post" action="${ownKeyPath(id, 'reveal')}">
            ${tokenField(viewer)}
            <p id="reveal-${id}">Your key is ready. It is shown only once, so have a safe place for it.</p>
            <button aria-describedby="reveal-${id}">Reveal key<span class="unseen"> ${id}</span></button>
          </form>`;
}

function rotateForm({ id, key_prefix }: KeyRow, viewer: Viewer): Html {
  return html`<details>
            <summary>Rotate<span class="unseen"> key ${id}</span></summary>
            <form method="post" action="${ownKeyPath(id, 'rotate')}">
              ${tokenField(viewer)}
              <input type="hidden" name="prefix" value="${key_prefix ?? ''}">
              <p>You get a new key, shown only once. The old key stops working at once. Limit and usage stay the same.</p>
              <button>Rotate key ${id}</button>
            </form>
          </details>`;
}

function renameForm({ id, name }: KeyRow, viewer: Viewer): Html {
  return html`<details>
            <summary>Rename<span class="unseen"> key ${id}</span></summary>
            <form method="post" action="${ownKeyPath(id, 'rename')}">
              ${tokenField(viewer)}
              <label for="name-${id}">Name</label>
              <input id="name-${id}" name="name" maxlength="${LONGEST_KEY_NAME}" autocomplete="off" value="${name ?? ''}">
              <button>Save name</button>
            </form>
          </details>`;
}

function withdrawForm({ id }: KeyRow, viewer: Viewer): Html {
  return html`<details>
            <summary>Withdraw<span class="unseen"> request ${id}</span></summary>
            <form method="post" action="${ownKeyPath(id, 'withdraw')}">
              ${tokenField(viewer)}
              <p>Moderators no longer see the request. This cannot be undone.</p>
              <button class="danger">Withdraw request ${id}</button>
            </form>
          </details>`;
}

function revokeForm({ id }: KeyRow, viewer: Viewer): Html {
  return html`<details>
            <summary>Revoke<span class="unseen"> key ${id}</span></summary>
            <form method="post" action="${ownKeyPath(id, 'revoke')}">
              ${tokenField(viewer)}
              <p>The key stops working within seconds, for good. This cannot be undone.</p>
              <button class="danger">Revoke key ${id}</button>
            </form>
          </details>`;
}
