/** The page of an account: its keys, with the actions for each, and the form to request a key. */
import type { KeyRow } from '../../lifecycle/key-lists.ts';
import type { DayOfUse } from '../../lifecycle/key-usage.ts';
import { LONGEST_ADDRESS, MOST_PENDING } from '../../lifecycle/own-keys.ts';
import { LONGEST_TEXT } from '../../lifecycle/typed-text.ts';
import { ownKeyPath, PATHS } from '../../paths.ts';
import { type Html, html } from './html.ts';
import { limitOf, nameOf, prefixOf, purposeOf, stateBadge } from './key-parts.ts';
import {
  day,
  descriptions,
  makePage,
  moment,
  type Notice,
  tokenField,
  type Viewer,
} from './layout.ts';
import { usageChart } from './usage-chart.ts';

/** The content of a form that was refused, to fill the form again. */
export interface Draft {
  readonly purpose: string;
  readonly websiteUrl: string;
}

export interface AccountPage {
  readonly viewer: Viewer;
  readonly keys: readonly KeyRow[];
  /** By the id of the key. */
  readonly usage: ReadonlyMap<number, readonly DayOfUse[]>;
  readonly now: Date;
  readonly notice?: Notice | undefined;
  readonly draft?: Draft | undefined;
}

export function accountPage(page: AccountPage): Html {
  const { viewer, keys, notice, draft } = page;
  const newestFirst = keys.toSorted((a, b) => b.id - a.id);
  return makePage({
    title: 'API keys',
    viewer,
    path: PATHS.keys,
    notice,
    body: html`
      <section aria-labelledby="your-keys">
        <h2 id="your-keys">Your keys and requests</h2>
        ${
          keys.length === 0
            ? html`<p>No keys yet. Request one below.</p>`
            : html`<ul class="cards">${newestFirst.map((key) => keyCard(key, page))}</ul>`
        }
      </section>
      <section aria-labelledby="request">
        <h2 id="request">Request a key</h2>
        ${requestForm(viewer, keys, draft)}
      </section>`,
  });
}

function keyCard(key: KeyRow, { viewer, usage, now }: AccountPage): Html {
  return html`<li class="card" id="key-${key.id}">
          <h3>${nameOf(key)} ${stateBadge(key.state)}</h3>
          ${descriptions([
            ['Reason', key.reason ?? undefined],
            prefixOf(key),
            limitOf(key),
            ['Last use', day(key.last_used_on)],
            ...purposeOf(key),
            ['Revoked', moment(key.revoked_at)],
          ])}
          ${usageChart(usage.get(key.id) ?? [], { keyId: key.id, now })}
          ${(key.state === 'approved' || key.state === 'suspended') && actions(key, viewer)}
        </li>`;
}

function actions(key: KeyRow, viewer: Viewer): Html {
  const { id } = key;
  const newKey = () =>
    key.revealed_at === null ? revealForm(id, viewer) : rotateForm(key, viewer);
  return html`<div class="actions">
          ${key.state === 'approved' && newKey()}
          <details>
            <summary>Revoke<span class="unseen"> key ${id}</span></summary>
            <form method="post" action="${ownKeyPath(id, 'revoke')}">
              ${tokenField(viewer)}
              <p>The key stops working permanently within seconds. This cannot be undone.</p>
              <button class="danger">Revoke key ${id}</button>
            </form>
          </details>
          </div>`;
}

function revealForm(id: number, viewer: Viewer): Html {
  return html`<form method="post" action="${ownKeyPath(id, 'reveal')}">
            ${tokenField(viewer)}
            <p id="reveal-${id}">The key is made when you press the button, and shown only once. Have a safe place ready for it.</p>
            <button aria-describedby="reveal-${id}">Reveal key<span class="unseen"> ${id}</span></button>
          </form>`;
}

function rotateForm({ id, key_prefix }: KeyRow, viewer: Viewer): Html {
  return html`<details>
            <summary>Rotate<span class="unseen"> key ${id}</span></summary>
            <form method="post" action="${ownKeyPath(id, 'rotate')}">
              ${tokenField(viewer)}
              <input type="hidden" name="prefix" value="${key_prefix ?? ''}">
              <p>You get a new key, shown only once. The old key stops working within seconds.</p>
              <button>Rotate key ${id}</button>
            </form>
          </details>`;
}

function requestForm(viewer: Viewer, keys: readonly KeyRow[], draft: Draft | undefined): Html {
  const pending = keys.filter(({ state }) => state === 'pending').length;
  if (pending >= MOST_PENDING) {
    return html`<p>You have ${pending} requests under review. When one of them is decided, you can request another key.</p>`;
  }
  return html`<form class="wide" method="post" action="${PATHS.keys}">
          ${tokenField(viewer)}
          <label for="purpose">What are you building?</label>
          <p class="hint" id="purpose-hint">A moderator reads this. If you need a higher limit of requests a minute, say so here, and why.</p>
          <textarea id="purpose" name="purpose" rows="5" maxlength="${LONGEST_TEXT}" required aria-describedby="purpose-hint">
${draft?.purpose ?? ''}</textarea>
          <label for="website-url">Website of the project</label>
          <p class="hint" id="website-hint">For example https://example.org. A code repository is fine.</p>
          <input id="website-url" name="website_url" type="url" maxlength="${LONGEST_ADDRESS}" required autocomplete="url" aria-describedby="website-hint" value="${draft?.websiteUrl ?? ''}">
          <button>Request a key</button>
        </form>`;
}
