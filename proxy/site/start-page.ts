/** The start page: what the API is, a first call to copy, and the way to a key. */
import { callSamples } from '../../pages/call-samples.ts';
import { codeSamples } from '../../pages/code-block.ts';
import { type Html, html } from '../../pages/html.ts';
import { renderPage } from '../../pages/layout.ts';

const FIRST_CALL = {
  path: '/games/{platformSlug}/{gameSlug}',
  pathValues: { platformSlug: 'snes', gameSlug: 'chrono-trigger' },
};

/** @param api the address of the API, with the base path */
export function startPage(api: string): Html {
  return renderPage({
    title: undefined,
    filesPath: '',
    path: '/',
    width: 'wide',
    styles: ['/start.css'],
    body: html`<div class="hero">
        <div>
          <h1>Video-game covers, as JSON</h1>
          <p class="lead">Look up platforms, games and approved cover images from a script, a tool or a web page. The API is read-only, and every request needs an API key.</p>
          <form class="find" role="search" action="/explore">
            <label class="unseen" for="q">Search games by title</label>
            <input id="q" name="q" type="search" maxlength="100" placeholder="Search the covers" autocomplete="off">
            <button>Search</button>
          </form>
          <p class="actions"><a class="button" href="/account/api-keys">Get an API key</a> <a class="button quiet" href="/docs">Read the docs</a></p>
        </div>
        <div>
          ${codeSamples({ id: 'first-call', name: 'Get a game' }, callSamples(FIRST_CALL, api))}
        </div>
      </div>
      <ol class="steps">
        <li><strong>Get a key</strong> <a href="/account/api-keys">Request an API key</a> and say what you are building.</li>
        <li><strong>Set it</strong> In your terminal, run <code>export COVERS_KEY=cck_…</code> with your key.</li>
        <li><strong>Call the API</strong> Paste the code above. To generate a client of your own, use the <a href="/openapi.json">OpenAPI document</a>; it needs no key.</li>
      </ol>`,
  });
}
