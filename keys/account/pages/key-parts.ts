/** Parts of the pages about a key, which the pages of owners and of moderators share. */

import type { KeyState } from '../../../format/api-key.ts';
import { LARGEST_LIMIT, LARGEST_QUOTA } from '../../../format/keys-file.ts';
import type { KeyRow, KeyWithAccount } from '../../lifecycle/key-lists.ts';
import { LONGEST_TEXT } from '../../lifecycle/typed-text.ts';
import { reviewActionPath } from '../../paths.ts';
import { type Html, html } from './html.ts';
import {
  type Description,
  descriptions,
  moment,
  tokenField,
  type Viewer,
  webLink,
} from './layout.ts';

export const STATE_NAMES: Readonly<Record<KeyState, string>> = {
  pending: 'Pending review',
  approved: 'Approved',
  suspended: 'Suspended',
  rejected: 'Rejected',
  revoked: 'Revoked',
};

/** The name of a key on the pages. Until it is revealed, it is called a request. */
export function nameOf({ id, revealed_at }: KeyRow): string {
  return `${revealed_at === null ? 'Request' : 'Key'} ${id}`;
}

export function stateBadge(state: KeyState): Html {
  return html`<span class="state ${state}">${STATE_NAMES[state]}</span>`;
}

/** Whether a key has a limit: a request gets one when it is approved. */
export function hasLimit({ state }: KeyRow): boolean {
  return state === 'approved' || state === 'suspended' || state === 'revoked';
}

export function limitOf(key: KeyRow): Description {
  if (!hasLimit(key)) return ['Limit', undefined];
  const quota = key.daily_quota === null ? '' : `, ${key.daily_quota} requests a day`;
  return ['Limit', `${key.limit_per_minute} requests a minute${quota}`];
}

export function prefixOf({ key_prefix }: KeyRow): Description {
  return ['Starts with', key_prefix === null ? undefined : html`<code>${key_prefix}…</code>`];
}

export function purposeOf({ purpose, website_url, requested_at }: KeyRow): Description[] {
  return [
    ['Purpose', purpose],
    ['Website', website_url === '' ? undefined : webLink(website_url)],
    ['Requested', moment(requested_at)],
  ];
}

/** The account of a key, its purpose, and further details. */
export function facts(key: KeyWithAccount, more: readonly Description[] = []): Html {
  return descriptions([['Account', accountOf(key)], ...purposeOf(key), ...more]);
}

export function accountOf({ account_id, account_name, account_email }: KeyWithAccount): Html {
  if (account_id === null) return html`none (issued from the command line)`;
  if (account_name === null) return html`${account_id} (deleted)`;
  return html`${account_name} <span class="faint">${account_email ?? ''}</span>`;
}

/** The forms that approve and reject a request. */
export function decisions({ id }: KeyWithAccount, viewer: Viewer, defaultLimit: number): Html {
  return html`<div class="decisions">
          <form method="post" action="${reviewActionPath(id, 'approve')}">
            ${tokenField(viewer)}
            ${limitInput(id, defaultLimit)}
            ${quotaInput(id, null)}
            <button>Approve<span class="unseen"> request ${id}</span></button>
          </form>
          <form method="post" action="${reviewActionPath(id, 'reject')}">
            ${tokenField(viewer)}
            ${reasonInput(id)}
            <button class="danger">Reject<span class="unseen"> request ${id}</span></button>
          </form>
          </div>`;
}

export function limitInput(id: number, limit: number): Html {
  return html`<label for="limit-${id}">Requests a minute</label>
            <input id="limit-${id}" name="limit" type="number" inputmode="numeric" min="1" max="${LARGEST_LIMIT}" value="${limit}" required>`;
}

export function quotaInput(id: number, quota: number | null): Html {
  return html`<label for="quota-${id}">Requests a day (if empty, any number)</label>
            <input id="quota-${id}" name="daily_quota" type="number" inputmode="numeric" min="1" max="${LARGEST_QUOTA}" value="${quota ?? ''}">`;
}

export function reasonInput(id: number): Html {
  return html`<label for="reason-${id}">Reason (the owner sees it)</label>
            <textarea id="reason-${id}" name="reason" rows="2" maxlength="${LONGEST_TEXT}" required></textarea>`;
}
