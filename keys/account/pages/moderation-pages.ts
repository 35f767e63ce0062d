/** The pages of moderators: the requests under review with the list of all keys, and a key with its history. */
import { LARGEST_LIMIT } from '../../../lib/format/keys-file.ts';
import { type Html, html } from '../../../lib/pages/html.ts';
import { shownNumber } from '../../../lib/pages/shown-values.ts';
import type { KeyEvent } from '../../lifecycle/history.ts';
import type { KeyWithAccount } from '../../lifecycle/key-lists.ts';
import type { DayOfUse } from '../../lifecycle/key-usage.ts';
import { suggestedLimit } from '../../lifecycle/reviews.ts';
import { LONGEST_TEXT } from '../../lifecycle/typed-text.ts';
import type { QueuedMail } from '../../mail/outbox.ts';
import { PATHS, type ReviewAction, reviewActionPath, reviewPath } from '../../paths.ts';
import { makeFields, type Refused } from './form-fields.ts';
import {
  accountOf,
  excerptOf,
  facts,
  hasLimit,
  historyList,
  type KeyHistory,
  lastUseOf,
  limitFact,
  numberOf,
  oldKeyOf,
  prefixOf,
  STATE_NAMES,
  stateBadge,
} from './key-parts.ts';
import { framedPage, moment, type Notice, pageLinks, type Viewer } from './layout.ts';
import { usageChart } from './usage-chart.ts';

/** Which keys the list shows. */
interface Filter {
  readonly state: KeyWithAccount['state'] | undefined;
  readonly text: string;
  /** The number of the page; the first is 1. */
  readonly page: number;
}

interface ModerationPage {
  readonly viewer: Viewer;
  /** One page of the requests under review, oldest first. */
  readonly pending: readonly KeyWithAccount[];
  /** The number of that page; the first is 1. */
  readonly waitingPage: number;
  readonly hasMoreWaiting: boolean;
  readonly keys: readonly KeyWithAccount[];
  readonly hasMore: boolean;
  readonly filter: Filter;
  /** The last e-mails that were given up, newest first. */
  readonly givenUp: readonly QueuedMail[];
  readonly defaultLimit: number;
  readonly notice?: Notice | undefined;
}

/** How many characters of a purpose the list of keys shows. */
const LONGEST_EXCERPT = 120;
/** How many of the purpose of a request that waits. */
const LONGEST_PURPOSE = 1_000;

export function moderationPage(parts: ModerationPage): Html {
  const { viewer, pending, keys, givenUp, notice, defaultLimit } = parts;
  const card = (key: KeyWithAccount) => html`<li class="card" id="key-${key.id}">
          <h3><a href="${reviewPath(key.id)}">${numberOf(key)}</a></h3>
          ${facts(key, [limitFact(key)], LONGEST_PURPOSE)}
          ${key.purpose.length > LONGEST_PURPOSE && html`<p><a href="${reviewPath(key.id)}">Read all of request ${key.id}</a></p>`}
          ${decisions(key, defaultLimit)}
        </li>`;
  const { state, text } = parts.filter;
  const links = { path: PATHS.review, fields: { state, text } };
  return framedPage({
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
      </section>
      ${
        givenUp.length > 0 &&
        html`<section aria-labelledby="mails">
        <h2 id="mails">E-mails that did not arrive</h2>
        <ul class="rows">${givenUp.map(mailItem)}</ul>
      </section>`
      }`,
  });
}

function mailItem({ key_id, recipient, subject, created_at, last_error }: QueuedMail): Html {
  return html`<li>
            <p>${key_id === null ? subject : html`<a href="${reviewPath(key_id)}">${subject}</a>`}</p>
            <p>${recipient} <span class="faint">${moment(created_at)}</span></p>
            <p class="text">${last_error ?? ''}</p>
          </li>`;
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
  return html`<form class="inline" method="get" action="${PATHS.review}" role="search" aria-label="Keys">
          <div><label for="text">Name, e-mail, purpose or first characters of the key</label>
          <input id="text" name="text" type="search" maxlength="200" value="${text}"></div>
          <div><label for="state">State</label>
          <select id="state" name="state">
            <option value="">All</option>
            ${Object.entries(STATE_NAMES).map(
              ([value, name]) =>
                html`<option value="${value}"${value === state && html` selected`}>${name}</option>`,
            )}
          </select></div>
          <button class="quiet">Filter</button>
        </form>`;
}

interface KeyPage extends KeyHistory {
  readonly viewer: Viewer;
  readonly key: KeyWithAccount;
  readonly usage: readonly DayOfUse[];
  readonly now: Date;
  readonly defaultLimit: number;
  readonly notice?: Notice | undefined;
  readonly refused?: Refused | undefined;
}

export function keyPage(page: KeyPage): Html {
  const { viewer, key, usage, now, defaultLimit, notice, refused } = page;
  return framedPage({
    title: numberOf(key),
    viewer,
    notice,
    body: html`
      <p>${stateBadge(key.state)} <a href="${PATHS.review}">All keys</a></p>
      ${facts(key, [
        limitFact(key),
        prefixOf(key),
        oldKeyOf(key),
        ['Reason', key.reason],
        lastUseOf(key),
      ])}
      ${usageChart(usage, { keyId: key.id, now })}
      ${key.state === 'pending' && decisions(key, defaultLimit, refused)}
      ${key.state === 'approved' && changesOfApproved(key, refused)}
      <section aria-labelledby="history">
        <h2 id="history">History</h2>
        ${historyList(page, actorOf)}
      </section>`,
  });
}

function changesOfApproved({ id, limit_per_minute }: KeyWithAccount, refused?: Refused): Html {
  return html`<div class="columns ruled">
        ${decision(id, 'limit', limit_per_minute, html`<button>Change limit</button>`, refused)}
        ${decision(id, 'revoke', undefined, html`<button class="danger">Revoke key ${id}</button>`, refused)}
      </div>`;
}

function actorOf({ actor_id, actor_name }: KeyEvent): string {
  return actor_id === null ? 'an operator' : (actor_name ?? `account ${actor_id}`);
}

/** The forms that approve and reject a request. */
function decisions(request: KeyWithAccount, defaultLimit: number, refused?: Refused): Html {
  const { id, limit_of: limited } = request;
  const what = html`<span class="unseen"> request ${id}</span>`;
  const limit = suggestedLimit(request, defaultLimit);
  return html`${limited !== null && html`<p>Approving this request gives <a href="${reviewPath(limited)}">key ${limited}</a> the limit below.</p>`}
      <div class="columns ruled">
        ${decision(id, 'approve', limit, html`<button>Approve${what}</button>`, refused)}
        ${decision(id, 'reject', undefined, html`<button class="danger">Reject${what}</button>`, refused)}
      </div>`;
}

/** @param limit what the form suggests; undefined for a form that asks for a reason */
function decision(
  id: number,
  action: ReviewAction,
  limit: number | undefined,
  button: Html,
  refused: Refused | undefined,
): Html {
  const path = reviewActionPath(id, action);
  const field = makeFields(path, refused);
  const input =
    limit === undefined
      ? field({
          name: 'reason',
          id: `reason-${id}`,
          label: 'Reason (the owner reads it)',
          rows: 2,
          more: html`maxlength="${LONGEST_TEXT}" required`,
        })
      : field({
          name: 'limit',
          id: `limit-${id}`,
          label: 'Requests per minute',
          value: limit,
          more: html`type="number" inputmode="numeric" min="1" max="${LARGEST_LIMIT}" required`,
        });
  return html`<form method="post" action="${path}">
          ${input}
          ${button}
        </form>`;
}
