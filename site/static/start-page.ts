/**
 * The start page: search, the newest covers, a first call with its response, and the way to a key. It is made
 * once, with placeholders for what the catalogue says (`fillIn`); `{{newest}}` stands for the covers.
 */
import { callSamples } from '../../lib/pages/call-samples.ts';
import { codeBlock, codeSamples } from '../../lib/pages/code-block.ts';
import { type Html, html } from '../../lib/pages/html.ts';
import { renderPage } from '../../lib/pages/layout.ts';

const FIRST_CALL = {
  path: '/games/{platformSlug}/{gameSlug}',
  pathValues: { platformSlug: '{{platform}}', gameSlug: '{{game}}' },
};

const EXPLORER = html`<form class="inline" role="search" action="/explore">
            <label class="unseen" for="q">Search games by title</label>
            <input id="q" name="q" type="search" maxlength="100" placeholder="Search the covers" autocomplete="off">
            <button>Search</button>
          </form>
          <p class="actions"><a class="button" href="/explore">Explore</a> <a class="button quiet" href="/match">Match my files</a></p>`;

/** @param api the address of the API, with the base path */
export function startPage(api: string, hasExplorer: boolean): Html {
  return renderPage({
    title: undefined,
    description:
      'The covers of video games, to look at, and as JSON for scripts, tools and web pages.',
    path: '/',
    hasExplorer,
    width: 'wide',
    styles: ['/explore.css'],
    body: html`<div class="columns hero">
        <div>
          <h1>Video-game covers, as JSON</h1>
          <p class="lead">{{counts}}. Look them up from a script, a tool or a web page.</p>
          ${hasExplorer && EXPLORER}
        </div>
        <section aria-labelledby="newest"><h2 id="newest">Newest covers</h2>{{newest}}</section>
      </div>
      <section class="ruled" aria-labelledby="first-call">
        <h2 id="first-call">A first call</h2>
        <ol class="columns">
          <li><strong>1. Get a key</strong> <a href="/account/api-keys">Request an API key</a> and say what you are building.</li>
          <li><strong>2. Set it</strong> In your terminal, run <code>export COVERS_KEY=cck_…</code> with your key.</li>
          <li><strong>3. Call the API</strong> Paste this code. More is in the <a href="/docs">docs</a>, and in the <a href="/openapi.json">OpenAPI document</a> for tools.</li>
        </ol>
        <div class="columns call">
          <div>${codeSamples({ id: 'call', name: 'Get a game' }, callSamples(FIRST_CALL, api))}</div>
          ${codeBlock({ id: 'response', name: 'Response', text: '{{GET /games/{{platform}}/{{game}}}}' })}
        </div>
      </section>`,
  });
}
