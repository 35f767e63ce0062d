/** Parts of the pages about a key, which the pages of owners and of moderators share. */
import type { KeyState } from '../../../lib/format/api-key.ts';
import { type Html, html } from '../../../lib/pages/html.ts';
import { capitalise, type Fact, factList, shownNumber } from '../../../lib/pages/shown-values.ts';
import type { KeyEvent } from '../../lifecycle/history.ts';
import type { KeyRow, KeyWithAccount } from '../../lifecycle/key-lists.ts';
import { LONGEST_TEXT } from '../../lifecycle/typed-text.ts';
import { moment, webLink } from './layout.ts';

export const STATE_NAMES: Readonly<Record<KeyState, string>> = {
  pending: 'Waiting for review',
  approved: 'Approved',
  granted: 'Limit raised',
  rejected: 'Rejected',
  withdrawn: 'Withdrawn',
  revoked: 'Revoked',
};

/** The number of a key. Until it is revealed, it is called a request. */
export function numberOf({ id, revealed_at }: KeyRow): string {
  return `${revealed_at === null ? 'Request' : 'Key'} ${id}`;
}

/** The name that the owner has given the key, or else its number. */
export function nameOf(key: KeyRow): string {
  return key.name ?? numberOf(key);
}

export function stateBadge(state: KeyState, text = STATE_NAMES[state]): Html {
  return html`<span class="state ${state}">${text}</span>`;
}

/** The state of a key as its owner sees it, who may have to act. */
export function ownerBadge({ state, revealed_at }: KeyRow): Html {
  if (state !== 'approved') return stateBadge(state);
  return stateBadge(state, revealed_at === null ? 'Ready to reveal' : 'Active');
}

/** Whether a key has a limit: a request gets one when it is approved. */
export function hasLimit({ state }: KeyRow): boolean {
  return state === 'approved' || state === 'granted' || state === 'revoked';
}

export function shownLimit(perMinute: number): string {
  return `${shownNumber(perMinute)} requests per minute`;
}

export function limitFact(key: KeyRow): Fact {
  return ['Limit', hasLimit(key) ? shownLimit(key.limit_per_minute) : undefined];
}

export function lastUseOf({ last_used_at }: KeyRow): Fact {
  return ['Last used', moment(last_used_at)];
}

export function oldKeyOf({ old_key_prefix: prefix, old_key_ends_at: end }: KeyRow): Fact {
  return ['Old key', prefix && html`<code>${prefix}…</code> works until ${moment(end)}`];
}

export function prefixOf({ key_prefix }: KeyRow): Fact {
  return ['Starts with', key_prefix === null ? undefined : html`<code>${key_prefix}…</code>`];
}

/**
 * A text, or the beginning of a longer one. Strangers typed it, so a list that shows many must not show
 * all of each.
 */
export function excerptOf(text: string, most: number): string {
  return text.length <= most ? text : `${[...text.slice(0, 2 * most)].slice(0, most).join('')}…`;
}

/** @param most how many characters of the purpose to show; by default all */
export function purposeOf(key: KeyRow, most = LONGEST_TEXT): Fact[] {
  const { purpose, website_url, requested_at } = key;
  return [
    ...higherLimitFacts(key),
    ['Purpose', excerptOf(purpose, most)],
    ['Website', website_url === '' ? undefined : webLink(website_url)],
    ['Requested', moment(requested_at)],
  ];
}

function higherLimitFacts(key: KeyRow): Fact[] {
  const { state, limit_of, limit_per_minute, present_limit } = key;
  if (limit_of === null) return [];
  const present = state === 'pending' && present_limit !== null ? shownLimit(present_limit) : '';
  return [
    ['Higher limit for', `Key ${limit_of}${present && `, now ${present}`}`],
    ['Asked for', hasLimit(key) ? undefined : shownLimit(limit_per_minute)],
  ];
}

/**
 * The account of a key, its purpose, and further details.
 * @param most how many characters of the purpose to show; by default all
 */
export function facts(key: KeyWithAccount, more: readonly Fact[] = [], most?: number): Html {
  const account: Fact[] = [
    ['Account', accountOf(key)],
    ['Key name', key.name],
  ];
  return factList([...account, ...purposeOf(key, most), ...more]);
}

export interface KeyHistory {
  readonly events: readonly KeyEvent[];
  /** Whether there were events before them. */
  readonly hasEarlier: boolean;
}

/** What was done to a key, oldest first. @param actorOf how the page calls who did it */
export function historyList(
  { events, hasEarlier }: KeyHistory,
  actorOf: (event: KeyEvent) => string,
): Html {
  if (events.length === 0) return html`<p>Nothing is recorded.</p>`;
  const item = (event: KeyEvent) => {
    const { action, at, reason, limit_per_minute } = event;
    return html`<li>
            <p><strong>${capitalise(action.replaceAll('_', ' '))}</strong> by ${actorOf(event)}, ${moment(at)}</p>
            ${limit_per_minute !== null && html`<p>${shownLimit(limit_per_minute)}</p>`}
            ${reason !== null && reason !== '' && html`<p class="text">${reason}</p>`}
          </li>`;
  };
  return html`${hasEarlier && html`<p>Only the last ${events.length} events.</p>`}
        <ol class="rows">${events.map(item)}</ol>`;
}

export function accountOf({ account_id, account_name, account_email }: KeyWithAccount): Html {
  if (account_id === null) return html`none (issued by an operator)`;
  if (account_name === null) return html`${account_id} (removed)`;
  return html`${account_name} <span class="faint">${account_email ?? ''}</span>`;
}
