/** The only page that shows a raw key: the response to the POST that created the key. */

import { codeBlock } from '../../../pages/code-block.ts';
import { type Html, html } from '../../../pages/html.ts';
import { shownNumber } from '../../../pages/shown-values.ts';
import { TRIAL_DAYS } from '../../lifecycle/own-requests.ts';
import { PATHS } from '../../paths.ts';
import { toDatabaseTime } from '../../tables/database-time.ts';
import { makePage, moment, type Viewer } from './layout.ts';

export interface ShownKey {
  readonly viewer: Viewer;
  readonly key: string;
  /** The address of the API, without a slash at the end. */
  readonly publicUrl: string;
  /** Whether the API accepts the key already. */
  readonly isAccepted: boolean;
  /** The limit of a trial key, in requests per minute; undefined for another key. */
  readonly trialLimit?: number | undefined;
  /** Until when the old key works, if this one replaces another. */
  readonly rotation?: { readonly oldUntil: Date | undefined };
}

export function keyShownPage(shown: ShownKey): Html {
  const { viewer, key, publicUrl, isAccepted } = shown;
  return makePage({
    title: 'Save your API key',
    viewer,
    body: html`
      <p><strong>Copy it now: it is shown only once.</strong> Keep it where only you can read it.${!isAccepted && ' It works within a few seconds.'}</p>
      ${codeBlock({ id: 'key', name: 'API key', text: key, breaksLines: true })}
      ${noteOn(shown)}
      <h2>Try it</h2>
      ${codeBlock({
        id: 'curl',
        name: 'Command',
        text: `curl -H 'Authorization: Bearer ${key}' ${publicUrl}/api/v1/stats`,
        breaksLines: true,
      })}
      <p>If you lose the key, or somebody else sees it, rotate it on your page of keys. The <a href="/docs">documentation</a> shows what it can do.</p>
      <p><a class="button" href="${PATHS.keys}">I’ve saved my key</a></p>`,
  });
}

/** What else happened when the key was created. */
function noteOn({ trialLimit, rotation }: ShownKey): Html | undefined {
  if (trialLimit !== undefined) {
    return html`<p>This is a trial key: ${shownNumber(trialLimit)} requests per minute, for up to ${TRIAL_DAYS} days. Your request is sent; we e-mail you when a moderator has decided.</p>`;
  }
  if (rotation === undefined) return undefined;
  if (rotation.oldUntil === undefined) return html`<p>Your old key no longer works.</p>`;
  return html`<p>Your old key works until ${moment(toDatabaseTime(rotation.oldUntil))}. Use the new one everywhere by then.</p>`;
}
