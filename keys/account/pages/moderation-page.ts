/** The page of moderators: the requests under review, and the list of all keys. */

import { type Html, html } from '../../../pages/html.ts';
import { shownNumber } from '../../../pages/shown-values.ts';
import type { KeyWithAccount } from '../../lifecycle/key-lists.ts';
import { PATHS, reviewPath } from '../../paths.ts';
import {
  accountOf,
  decisions,
  excerptOf,
  facts,
  hasLimit,
  limitOf,
  numberOf,
  STATE_NAMES,
  stateBadge,
} from './key-parts.ts';
import { makePage, type Notice, type Viewer } from './layout.ts';
import { pageLinks } from './page-links.ts';

/** Which keys the list shows. */
export interface Filter {
  readonly state: KeyWithAccount['state'] | undefined;
  readonly text: string;
  /** The number of the page; the first is 1. */
  readonly page: number;
}

export interface ModerationPage {
  readonly viewer: Viewer;
  /** One page of the requests under review, oldest first. */
  readonly pending: readonly KeyWithAccount[];
  /** The number of that page; the first is 1. */
  readonly waitingPage: number;
  readonly hasMoreWaiting: boolean;
  readonly keys: readonly KeyWithAccount[];
  readonly hasMore: boolean;
  readonly filter: Filter;
  readonly defaultLimit: number;
  readonly notice?: Notice | undefined;
}

/** How many characters of a purpose the list of keys shows. */
const LONGEST_EXCERPT = 120;
/** How many of the purpose of a request that waits. */
const LONGEST_PURPOSE = 1_000;

export function moderationPage(parts: ModerationPage): Html {
  const { viewer, pending, keys, notice, defaultLimit } = parts;
  const card = (key: KeyWithAccount) => html`<li class="card" id="key-${key.id}">
          <h3><a href="${reviewPath(key.id)}">${numberOf(key)}</a></h3>
          ${facts(key, [limitOf(key)], LONGEST_PURPOSE)}
          ${key.purpose.length > LONGEST_PURPOSE && html`<p><a href="${reviewPath(key.id)}">Read all of request ${key.id}</a></p>`}
          ${decisions(key, viewer, defaultLimit)}
        </li>`;
  const { state, text } = parts.filter;
  const links = { path: PATHS.review, fields: { state, text } };
  return makePage({
    title: 'Review API keys',
    viewer,
    path: PATHS.review,
    notice,
    body: html`
      <section aria-labelledby="pending">
        <h2 id="pending">Waiting for review</h2>
        ${pending.length === 0 ? parts.waitingPage === 1 && html`<p>Nothing to review. New requests appear here.</p>` : html`<ul class="cards">${pending.map(card)}</ul>`}
        ${pageLinks({ ...links, name: 'waiting', page: parts.waitingPage, hasMore: parts.hasMoreWaiting, before: 'Older requests', after: 'Newer requests', anchor: 'pending' })}
      </section>
      <section aria-labelledby="all">
        <h2 id="all">All keys</h2>
        ${filterForm(parts.filter)}
        ${keys.length === 0 ? noneFound(parts.filter) : html`<ul class="rows">${keys.map(row)}</ul>`}
        ${pageLinks({ ...links, name: 'page', page: parts.filter.page, hasMore: parts.hasMore, before: 'Newer keys', after: 'Older keys', anchor: 'all' })}
      </section>`,
  });
}

function noneFound({ state, text, page }: Filter): Html {
  if (state === undefined && text === '' && page === 1) return html`<p>No keys yet.</p>`;
  return html`<p>No keys match. <a href="${PATHS.review}#all">Show all keys</a></p>`;
}

function row(key: KeyWithAccount): Html {
  return html`<li>
            <p><a href="${reviewPath(key.id)}">${numberOf(key)}</a> ${stateBadge(key.state)}
              ${key.key_prefix !== null && html`<code>${key.key_prefix}…</code>`}
              ${hasLimit(key) && html`<span>${shownNumber(key.limit_per_minute)} per minute</span>`}</p>
            <p>${accountOf(key)}${key.name !== null && html` <span>${key.name}</span>`}</p>
            <p class="faint">${excerptOf(key.purpose, LONGEST_EXCERPT)}</p>
          </li>`;
}

function filterForm({ state, text }: Filter): Html {
  return html`<form class="filter" method="get" action="${PATHS.review}" role="search" aria-label="Keys">
          <div><label for="state">State</label>
          <select id="state" name="state">
            <option value="">All</option>
            ${Object.entries(STATE_NAMES).map(
              ([value, name]) =>
                html`<option value="${value}"${value === state && html` selected`}>${name}</option>`,
            )}
          </select></div>
          <div><label for="text">Name, e-mail, purpose or first characters of the key</label>
          <input id="text" name="text" type="search" maxlength="200" value="${text}"></div>
          <button class="quiet">Filter</button>
        </form>`;
}
