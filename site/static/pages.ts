/**
 * The pages outside the base that are made once at start: the docs, the changelog, the OpenAPI contract and the
 * frame of the start page. Only the paths in the map exist. The path of a request is never used as a file name.
 */
import { readFileSync } from 'node:fs';
import { type Html, html } from '../../lib/pages/html.ts';
import { readFiles, renderPage, SHARED_FILES } from '../../lib/pages/layout.ts';
import { BASE } from '../../proxy/http/request.ts';
import { JSON_TYPE } from '../../proxy/http/response.ts';
import { parseContract, resolveContract } from '../docs/contract.ts';
import { makeDocs } from '../docs/docs.ts';
import { renderMarkdown } from '../docs/markdown.ts';
import { HTML, makePage, type Page } from './page-responses.ts';
import { startPage } from './start-page.ts';

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
