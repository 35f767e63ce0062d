/** The only page that shows a raw key: the response to the POST that created the key. */

import { codeBlock } from '../../../pages/code-block.ts';
import { type Html, html } from '../../../pages/html.ts';
import { PATHS } from '../../paths.ts';
import { makePage, type Viewer } from './layout.ts';

export interface ShownKey {
  readonly viewer: Viewer;
  readonly key: string;
  /** The address of the API, without a slash at the end. */
  readonly publicUrl: string;
  /** Whether the API accepts the key already. */
  readonly isAccepted: boolean;
  /** Whether the key replaces another. */
  readonly isRotation?: boolean;
}

export function keyShownPage(shown: ShownKey): Html {
  const { viewer, key, publicUrl, isAccepted, isRotation = false } = shown;
  return makePage({
    title: 'Save your API key',
    viewer,
    body: html`
      <p><strong>Copy it now: it is shown only once.</strong> Keep it where only you can read it.${!isAccepted && ' It works within a few seconds.'}</p>
      ${codeBlock({ id: 'key', name: 'API key', text: key, breaksLines: true })}
      ${isRotation && html`<p>Your old key no longer works.</p>`}
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
