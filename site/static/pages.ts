/**
 * The pages outside the base that are made once at start: the start page, the docs, the changelog and the
 * OpenAPI contract. Only the paths in the map exist. The path of a request is never used as a file name. What
 * they say about the catalogue is a placeholder, which `filled-pages.ts` fills in.
 */
import { readFileSync } from 'node:fs';
import { callSamples } from '../../lib/pages/call-samples.ts';
import { besideResponse, codeSamples } from '../../lib/pages/code-block.ts';
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
interface SiteFacts {
  /** The address at which clients reach the proxy, for examples and the contract. */
  readonly publicUrl: string;
  /** The limit of a key for which no other was set, in requests per minute. */
  readonly defaultLimit: number;
  /** Whether pages link to the explorer. */
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
    ['/changelog', changelogPage(hasExplorer)],
    ...makeDocs(resolveContract(whole), { api, defaultLimit, hasExplorer }),
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
  pathValues: { platformSlug: '{{platform}}', gameSlug: '{{game}}' },
};

const EXPLORER = html`<form class="inline" role="search" action="/explore">
            <label class="unseen" for="q">Search games by title</label>
            <input id="q" name="q" type="search" maxlength="100" placeholder="Search the covers" autocomplete="off">
            <button>Search</button>
          </form>
          <p class="actions"><a class="button" href="/explore">Explore</a> <a class="button quiet" href="/match">Match my files</a></p>`;

/**
 * Search, the newest covers (`{{newest}}`), a first call with its response, and the way to a key.
 * @param api the address of the API, with the base path
 */
function startPage(api: string, hasExplorer: boolean): Html {
  const samples = codeSamples({ id: 'call', name: 'Get a game' }, callSamples(FIRST_CALL, api));
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
        ${besideResponse(samples, 'call', '{{GET /games/{{platform}}/{{game}}}}')}
      </section>`,
  });
}

/** What is new in the API, from the sections "API" of CHANGELOG.md. */
function changelogPage(hasExplorer: boolean): Html {
  return renderPage({
    title: 'Changelog',
    path: '/changelog',
    hasExplorer,
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
