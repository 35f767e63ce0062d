/** What the pages of the explorer have in common: their frame, the way back, and the call of the API. */
import { type Call, callSamples } from '../../../pages/call-samples.ts';
import { codeSamples } from '../../../pages/code-block.ts';
import { type Html, html } from '../../../pages/html.ts';
import { renderPage } from '../../../pages/layout.ts';
import { shownNumber } from '../../../pages/shown-values.ts';
import type { HeaderList } from '../../http/message/response.ts';
import type { Generation } from '../../snapshot/generation.ts';
import { EXPLORE } from '../content/address.ts';

export interface PageContext {
  /** The call whose result the page shows. */
  readonly call: Call;
  /** The address of the API, with the base. */
  readonly apiUrl: string;
  /** The only origin from which the page may load images; undefined if there is none. */
  readonly imageOrigin: string | undefined;
  /** Whether the call was made with the key of the visitor. */
  readonly hasOwnKey: boolean;
  readonly generation: Generation;
}

export interface RenderedPage {
  readonly status: number;
  readonly page: Html;
  /** The origin of the images, as in Content-Security-Policy; undefined without images. */
  readonly imageOrigin?: string | undefined;
  readonly headers?: HeaderList;
}

/** A link in the path from the start of the explorer to a page. */
export type Crumb = readonly [path: string, text: string];

export function explorerPage(title: string, body: Html): Html {
  return renderPage({
    title,
    filesPath: '',
    path: EXPLORE,
    styles: ['/explore.css'],
    scripts: ['/explore.js'],
    width: 'wide',
    body,
  });
}

/** @param crumbs the pages above this one, besides the start of the explorer */
export function crumbs(...crumbs: readonly Crumb[]): Html {
  return html`<nav class="crumbs" aria-label="You are here"><ol>
  ${[[EXPLORE, 'Explore'] as const, ...crumbs].map(
    ([path, text]) => html`<li><a href="${path}">${text}</a></li>`,
  )}
</ol></nav>`;
}

/** The call behind the page, for readers who want the same in their program. */
export function apiCall({ call, apiUrl, hasOwnKey }: PageContext): Html {
  return html`<section class="api-call">
  <h2>This as an API call</h2>
  <p class="faint">The page shows the result of one call. ${hasOwnKey ? html`It was made with your key. <button type="button" class="quiet small" data-forget-key hidden>Forget my key</button>` : html`To make it yourself, <a href="/account/api-keys">get an API key</a> and set <code>COVERS_KEY</code> to it.`}</p>
  ${codeSamples({ id: 'call', name: 'The call' }, callSamples(call, apiUrl))}
</section>`;
}

/** "1 game", "2,300 games" */
export function countOf(count: number, noun: string): string {
  return `${shownNumber(count)} ${noun}${count === 1 ? '' : 's'}`;
}
