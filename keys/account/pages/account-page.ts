/** The page of an account: its keys and requests, and the form to request a key. */

import { type Html, html } from '../../../pages/html.ts';
import type { KeyRow } from '../../lifecycle/key-lists.ts';
import type { DayOfUse } from '../../lifecycle/key-usage.ts';
import { MOST_PENDING } from '../../lifecycle/own-requests.ts';
import { PATHS } from '../../paths.ts';
import { keyCard } from './key-card.ts';
import { makePage, type Notice, type Viewer } from './layout.ts';
import { type Draft, requestForm } from './request-form.ts';

export interface AccountPage {
  readonly viewer: Viewer;
  readonly keys: readonly KeyRow[];
  /** By the id of the key. */
  readonly usage: ReadonlyMap<number, readonly DayOfUse[]>;
  readonly now: Date;
  /** The limit of a key, in requests per minute, that most projects need. */
  readonly defaultLimit: number;
  readonly notice?: Notice | undefined;
  readonly draft?: Draft | undefined;
}

const ENDED = ['rejected', 'withdrawn', 'revoked'];

export function accountPage(page: AccountPage): Html {
  const { viewer, keys, notice } = page;
  const newestFirst = keys.toSorted((a, b) => b.id - a.id);
  const card = (key: KeyRow) =>
    keyCard(key, {
      viewer,
      now: page.now,
      usage: page.usage.get(key.id) ?? [],
    });
  const open = newestFirst.filter(({ state }) => !ENDED.includes(state));
  const ended = newestFirst.filter(({ state }) => ENDED.includes(state));
  return makePage({
    title: 'API keys',
    viewer,
    path: PATHS.keys,
    notice,
    body: html`
      <section aria-labelledby="your-keys">
        <h2 id="your-keys">Your keys</h2>
        ${open.length === 0 ? noKeys(ended.length > 0) : html`<ul class="cards">${open.map(card)}</ul>`}
        ${
          ended.length > 0 &&
          html`<details class="ended">
          <summary>Revoked, rejected and withdrawn (${ended.length})</summary>
          <ul class="cards">${ended.map(card)}</ul>
        </details>`
        }
      </section>
      <section aria-labelledby="request">
        <h2 id="request">Request a key</h2>
        ${newRequest(page)}
      </section>`,
  });
}

function noKeys(hadKeys: boolean): Html {
  if (hadKeys) return html`<p>No keys in use.</p>`;
  return html`<p>No keys yet. Programs need one to call the API: request your first one below.</p>`;
}

function newRequest({ viewer, keys, draft, defaultLimit }: AccountPage): Html {
  const pending = keys.filter(({ state }) => state === 'pending').length;
  if (pending >= MOST_PENDING) {
    return html`<p>You have ${pending} requests waiting for review. You can send another one when a moderator has decided about one of them, or when you withdraw one.</p>`;
  }
  return requestForm({
    viewer,
    defaultLimit,
    draft,
  });
}
