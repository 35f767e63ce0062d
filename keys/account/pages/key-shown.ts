/** The only page that shows a raw key: the response to the POST that created the key. */
import { PATHS } from '../../paths.ts';
import { type Html, html } from './html.ts';
import { makePage, type Viewer } from './layout.ts';

export interface ShownKey {
  readonly viewer: Viewer;
  readonly key: string;
  /** The address of the API, without a slash at the end. */
  readonly publicUrl: string;
}

export function keyShownPage({ viewer, key, publicUrl }: ShownKey): Html {
  return makePage({
    title: 'Your API key',
    viewer,
    body: html`
      <p><strong>Save it now: it is shown only once.</strong> Keep it where only you can read it. It works within a few seconds.</p>
      ${copyable('key', 'API key', key)}
      <h2>Try it</h2>
      ${copyable('curl', 'Command', `curl -H 'X-Api-Key: ${key}' ${publicUrl}/api/v1/stats`)}
      <p role="status" id="copied"></p>
      <p>If you lose it, or others see it, rotate it on the page of your keys. The <a href="/docs">reference</a> describes the API.</p>
      <p><a class="button" href="${PATHS.keys}">I’ve saved my key</a></p>`,
  });
}

// A script shows the button. Without scripts it stays hidden, and people select and copy the text.
function copyable(id: string, name: string, text: string): Html {
  return html`<div class="copyable">
        <pre tabindex="0" role="region" aria-label="${name}"><code id="${id}">${text}</code></pre>
        <button type="button" class="quiet" data-copy="${id}" hidden>Copy<span class="unseen"> ${name}</span></button>
      </div>`;
}
