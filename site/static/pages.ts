/**
 * The pages outside the base that are made once at start: the start page, the docs, the changelog and
 * the OpenAPI contract. Only the paths in the map exist. The path of a request is never used as a file
 * name.
 */
import { readFileSync } from 'node:fs';
import { callSamples } from '../../lib/pages/call-samples.ts';
import { codeSamples } from '../../lib/pages/code-block.ts';
import { type Html, html } from '../../lib/pages/html.ts';
import { readFiles, renderPage, SHARED_FILES } from '../../lib/pages/layout.ts';
import { BASE } from '../../proxy/http/request.ts';
import { JSON_TYPE } from '../../proxy/http/response.ts';
import { parseContract, resolveContract } from '../docs/contract.ts';
import { makeDocs } from '../docs/docs.ts';
import { renderMarkdown } from '../docs/markdown.ts';
import { HTML, makePage, type Page } from './page-responses.ts';

const CHANGELOG = new URL('../../CHANGELOG.md', import.meta.url);

/** The folders with the stylesheets and scripts of the pages. */
const FOLDERS = [
  SHARED_FILES,
  new URL('./files/', import.meta.url),
  new URL('../explore/files/', import.meta.url),
];

/** What the pages say about this installation. */
export interface SiteFacts {
  /** The address at which clients reach the proxy, for examples and the contract. */
  readonly publicUrl: string;
  /** The limit of a key for which no other was set, in requests per minute. */
  readonly defaultLimit: number;
  /** Whether the start page has a search box, which leads to the explorer. */
  readonly hasExplorer: boolean;
}

/** The pages by their exact path. */
export type SitePages = ReadonlyMap<string, Page>;

/**
 * Makes the pages. Only the first thread does, because it takes 0.2 s.
 * @throws Error when a file of the program is missing
 */
export function makePages({ publicUrl, defaultLimit, hasExplorer }: SiteFacts): SitePages {
  const api = `${publicUrl}${BASE}`;
  const whole = parseContract();
  const contract = JSON.stringify({ ...whole, servers: [{ url: api }] });
  const origins = { headers: 'Access-Control-Allow-Origin: *\r\n' };
  const htmlPages = new Map([
    ['/', startPage(api, hasExplorer)],
    ['/changelog', changelogPage()],
    ...makeDocs(resolveContract(whole), { api, defaultLimit }),
  ]);
  return new Map([
    ...Array.from(htmlPages, ([path, page]) => [path, makePage(HTML, page.toString())] as const),
    ['/openapi.json', makePage(JSON_TYPE, contract, origins)],
    ['/robots.txt', makePage('text/plain; charset=utf-8', ROBOTS)],
    ...FOLDERS.flatMap(readFiles).map(
      ({ name, type, content }) => [`/${name}`, makePage(type, content)] as const,
    ),
  ]);
}

const FIRST_CALL = {
  path: '/games/{platformSlug}/{gameSlug}',
  pathValues: { platformSlug: 'snes', gameSlug: 'chrono-trigger' },
};

const SEARCH_BOX = html`<form class="inline" role="search" action="/explore">
            <label class="unseen" for="q">Search games by title</label>
            <input id="q" name="q" type="search" maxlength="100" placeholder="Search the covers" autocomplete="off">
            <button>Search</button>
          </form>`;

/** What the API is, a first call to copy, and the way to a key. @param api its address, with the base path */
function startPage(api: string, hasExplorer: boolean): Html {
  return renderPage({
    title: undefined,
    path: '/',
    width: 'wide',
    body: html`<div class="columns hero">
        <div>
          <h1>Video-game covers, as JSON</h1>
          <p class="lead">Look up platforms, games and approved cover images from a script, a tool or a web page. The API is read-only, and every request needs an API key.</p>
          ${hasExplorer && SEARCH_BOX}
          <p class="actions"><a class="button" href="/account/api-keys">Get an API key</a> <a class="button quiet" href="/docs">Read the docs</a></p>
        </div>
        <div>
          ${codeSamples({ id: 'first-call', name: 'Get a game' }, callSamples(FIRST_CALL, api))}
        </div>
      </div>
      <ol class="columns ruled">
        <li><strong>1. Get a key</strong> <a href="/account/api-keys">Request an API key</a> and say what you are building.</li>
        <li><strong>2. Set it</strong> In your terminal, run <code>export COVERS_KEY=cck_…</code> with your key.</li>
        <li><strong>3. Call the API</strong> Paste the code above. To generate a client of your own, use the <a href="/openapi.json">OpenAPI document</a>; it needs no key.</li>
      </ol>`,
  });
}

/** What is new in the API, from the sections "API" of CHANGELOG.md. */
function changelogPage(): Html {
  return renderPage({
    title: 'Changelog',
    path: '/changelog',
    styles: ['/docs.css'],
    body: html`<h1>Changelog</h1>
      <p class="lead">What is new in the API, the latest version first.</p>
      ${renderMarkdown(apiChanges(readFileSync(CHANGELOG, 'utf8')), 'change')}`,
  });
}

/** The heading of each version, with the items of its section "API". */
function apiChanges(changelog: string): string {
  return changelog
    .split(/^(?=## )/m)
    .slice(1)
    .flatMap((version) => {
      const [heading = ''] = version.split('\n', 1);
      const items = /^### API\n(.*?)^### /ms.exec(`${version}\n### `)?.[1];
      return items === undefined ? [] : `${heading.replace(/[[\]]/g, '')}\n${items}`;
    })
    .join('\n');
}

/**
 * What search engines may read. The API needs a key, and the account pages a session. Of the explorer,
 * they may read platforms, games and covers, but not every combination of filters.
 */
const ROBOTS = `User-agent: *
Disallow: ${BASE}/
Disallow: /account
Disallow: /moderation
Disallow: /explore?
Disallow: /explore/*?
Disallow: /match?
`;
