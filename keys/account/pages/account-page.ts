/** The page of an account: its keys and requests, and the form to request a key. */

import { type Html, html } from '../../../pages/html.ts';
import type { KeyRow } from '../../lifecycle/key-lists.ts';
import type { DayOfUse } from '../../lifecycle/key-usage.ts';
import { MOST_PENDING } from '../../lifecycle/own-requests.ts';
import { PATHS } from '../../paths.ts';
import { keyCard } from './key-card.ts';
import { makePage, type Notice, type Viewer } from './layout.ts';
import { pageLinks } from './page-links.ts';
import { type Draft, requestForm } from './request-form.ts';

export interface AccountPage {
  readonly viewer: Viewer;
  /** One page of them: first those that are in use or pending, each newest first. */
  readonly keys: readonly KeyRow[];
  /** The number of the page; the first is 1. */
  readonly page: number;
  readonly hasMore: boolean;
  /** Whether fewer than {@link MOST_PENDING} requests are under review. */
  readonly mayRequest: boolean;
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
  const card = (key: KeyRow) =>
    keyCard(key, {
      viewer,
      now: page.now,
      usage: page.usage.get(key.id) ?? [],
    });
  const open = keys.filter(({ state }) => !ENDED.includes(state));
  const ended = keys.filter(({ state }) => ENDED.includes(state));
  return makePage({
    title: 'API keys',
    viewer,
    path: PATHS.keys,
    notice,
    body: html`
      <section aria-labelledby="your-keys">
        <h2 id="your-keys">Your keys</h2>
        ${open.length === 0 ? page.page === 1 && noKeys(ended.length > 0) : html`<ul class="cards">${open.map(card)}</ul>`}
        ${
          ended.length > 0 &&
          html`<details class="ended">
          <summary>Revoked, rejected and withdrawn (${ended.length})</summary>
          <ul class="cards">${ended.map(card)}</ul>
        </details>`
        }
        ${pageLinks({ path: PATHS.keys, name: 'page', page: page.page, hasMore: page.hasMore, before: 'Previous keys', after: 'More keys', anchor: 'your-keys' })}
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

function newRequest({ viewer, mayRequest, draft, defaultLimit }: AccountPage): Html {
  if (!mayRequest) {
    return html`<p>You have ${MOST_PENDING} requests waiting for review. You can send another one when a moderator has decided about one of them, or when you withdraw one.</p>`;
  }
  return requestForm({
    viewer,
    defaultLimit,
    draft,
  });
}
