/** The pages of moderators: the queue of requests, the list of all keys, and one key with its history. */
import { LARGEST_LIMIT } from '../../../format/keys-file.ts';
import type { KeyWithAccount } from '../../lifecycle/key-lists.ts';
import { LONGEST_TEXT } from '../../lifecycle/requests.ts';
import { type Html, html } from '../html.ts';
import { nameOf, STATE_NAMES, stateBadge } from './account-page.ts';
import {
  descriptions,
  makePage,
  moment,
  type Notice,
  PATHS,
  tokenField,
  type Viewer,
  webLink,
} from './layout.ts';

/** Which keys the list shows. */
export interface Filter {
  readonly state: KeyWithAccount['state'] | undefined;
  readonly text: string;
  /** Counted from 1. */
  readonly page: number;
}

export interface ModerationPage {
  readonly viewer: Viewer;
  readonly pending: readonly KeyWithAccount[];
  readonly keys: readonly KeyWithAccount[];
  readonly hasMore: boolean;
  readonly filter: Filter;
  readonly defaultLimit: number;
  readonly notice?: Notice | undefined;
}

const LONGEST_EXCERPT = 120;

export function moderationPage(parts: ModerationPage): Html {
  const { viewer, pending, keys, notice, defaultLimit } = parts;
  return makePage({
    title: 'Moderation of API keys',
    viewer,
    path: PATHS.moderation,
    notice,
    body: html`
      <section aria-labelledby="pending">
        <h2 id="pending">Requests under review</h2>
        ${
          pending.length === 0
            ? html`<p>There are none.</p>`
            : html`<ul class="cards">${pending.map(
                (key) => html`<li class="card" id="key-${key.id}">
          <h3><a href="${PATHS.moderation}/${key.id}">${nameOf(key)}</a></h3>
          ${facts(key)}
          ${decisions(key, viewer, defaultLimit)}
        </li>`,
              )}</ul>`
        }
      </section>
      <section aria-labelledby="all">
        <h2 id="all">All keys</h2>
        ${filterForm(parts.filter)}
        ${keys.length === 0 ? html`<p>No key is like that.</p>` : html`<ul class="rows">${keys.map(row)}</ul>`}
        ${pageLinks(parts.filter, parts.hasMore)}
      </section>`,
  });
}

/** Who asked, for what, and whatever else is to be said. Shared with the page of one key. */
export function facts(
  key: KeyWithAccount,
  more: readonly (readonly [string, Html | string | undefined])[] = [],
): Html {
  return descriptions([
    ['Account', accountOf(key)],
    ['Purpose', key.purpose],
    ['Website', key.website_url === '' ? undefined : webLink(key.website_url)],
    ['Requested', moment(key.requested_at)],
    ...more,
  ]);
}

/** The forms that approve and reject a request. */
export function decisions(key: KeyWithAccount, viewer: Viewer, defaultLimit: number): Html {
  const { id } = key;
  return html`<div class="decisions">
          <form method="post" action="${PATHS.moderation}/${id}/approve">
            ${tokenField(viewer)}
            <label for="limit-${id}">Requests a minute</label>
            ${limitInput(id, defaultLimit)}
            <button>Approve<span class="unseen"> request ${id}</span></button>
          </form>
          <form method="post" action="${PATHS.moderation}/${id}/reject">
            ${tokenField(viewer)}
            ${reasonInput(`reason-${id}`)}
            <button class="danger">Reject<span class="unseen"> request ${id}</span></button>
          </form>
          </div>`;
}

export function limitInput(id: number, limit: number): Html {
  return html`<input id="limit-${id}" name="limit" type="number" inputmode="numeric" min="1" max="${LARGEST_LIMIT}" value="${limit}" required>`;
}

export function reasonInput(id: string): Html {
  return html`<label for="${id}">Reason, told to the owner</label>
            <textarea id="${id}" name="reason" rows="2" maxlength="${LONGEST_TEXT}" required></textarea>`;
}

function accountOf({ account_id, account_name, account_email }: KeyWithAccount): Html {
  if (account_id === null) return html`none: issued from the command line`;
  if (account_name === null) return html`${account_id}, which is gone`;
  return html`${account_name} <span class="faint">${account_email ?? ''}</span>`;
}

function row(key: KeyWithAccount): Html {
  const wasApproved = key.state === 'approved' || key.state === 'revoked';
  const excerpt =
    key.purpose.length > LONGEST_EXCERPT
      ? `${[...key.purpose].slice(0, LONGEST_EXCERPT).join('')}…`
      : key.purpose;
  return html`<li>
            <p><a href="${PATHS.moderation}/${key.id}">${nameOf(key)}</a> ${stateBadge(key.state)}
              ${key.key_prefix !== null && html`<code>${key.key_prefix}…</code>`}
              ${wasApproved && html`<span>${key.limit_per_minute} a minute</span>`}</p>
            <p>${accountOf(key)}</p>
            <p class="faint">${excerpt}</p>
          </li>`;
}

function filterForm({ state, text }: Filter): Html {
  return html`<form class="filter" method="get" action="${PATHS.moderation}" role="search" aria-label="Keys">
          <div><label for="state">State</label>
          <select id="state" name="state">
            <option value="">All</option>
            ${Object.entries(STATE_NAMES).map(([value, name]) =>
              value === state
                ? html`<option value="${value}" selected>${name}</option>`
                : html`<option value="${value}">${name}</option>`,
            )}
          </select></div>
          <div><label for="text">Name, e-mail, purpose or prefix</label>
          <input id="text" name="text" type="search" maxlength="200" value="${text}"></div>
          <button class="quiet">Show</button>
        </form>`;
}

function pageLinks(filter: Filter, hasMore: boolean): Html | undefined {
  if (filter.page === 1 && !hasMore) return undefined;
  const link = (page: number, text: string) => {
    const query = new URLSearchParams({ page: String(page) });
    if (filter.state !== undefined) query.set('state', filter.state);
    if (filter.text !== '') query.set('text', filter.text);
    return html`<a href="${PATHS.moderation}?${query.toString()}#all">${text}</a>`;
  };
  return html`<nav class="pages" aria-label="Pages of the list">
          ${filter.page > 1 && link(filter.page - 1, 'Newer keys')}
          ${hasMore && link(filter.page + 1, 'Older keys')}
        </nav>`;
}
