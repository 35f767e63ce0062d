/**
 * The pages outside the base that show nothing of the catalogue, and the files that pages load. They are made once
 * at start.
 */
import { readFileSync } from 'node:fs';
import { type Html, html } from '../../lib/pages/html.ts';
import {
  DEFAULT_NAME,
  readFiles,
  renderPage,
  SHARED_FILES,
  type SiteFrame,
} from '../../lib/pages/layout.ts';
import { BASE } from '../../proxy/http/request.ts';
import { JSON_TYPE } from '../../proxy/http/response.ts';
import { renderMarkdown } from '../docs/markdown.ts';
import { HTML, makePage, type Page } from './page-responses.ts';

const CHANGELOG = new URL('../../CHANGELOG.md', import.meta.url);

/** The folders with the stylesheets and scripts of the pages. */
const FOLDERS = [
  SHARED_FILES,
  new URL('./files/', import.meta.url),
  new URL('../explore/files/', import.meta.url),
];

/**
 * @param contract from `parseContract`
 * @param publicUrl the address at which clients reach the proxy
 * @returns the pages by their exact path
 * @throws Error when a file of the program is missing
 */
export function makeFixedPages(
  contract: object,
  publicUrl: string,
  frame: SiteFrame,
): ReadonlyMap<string, Page> {
  const text = JSON.stringify(ownContract(contract, publicUrl, frame));
  const origins = { headers: 'Access-Control-Allow-Origin: *\r\n' };
  return new Map([
    ['/changelog', makePage(HTML, changelogPage(frame).toString())],
    ['/openapi.json', makePage(JSON_TYPE, text, origins)],
    ['/robots.txt', makePage('text/plain; charset=utf-8', ROBOTS)],
    ...FOLDERS.flatMap(readFiles).map(
      ({ name, type, content }) => [`/${name}`, makePage(type, content)] as const,
    ),
  ]);
}

/** The contract with the address, the name and the contact of this installation. */
function ownContract(contract: object, publicUrl: string, { site }: SiteFrame): object {
  const { info } = contract as { readonly info: object };
  const { contact } = site;
  const name = site.name || DEFAULT_NAME;
  const link = contact.includes('://') ? { url: contact } : { email: contact };
  const own = contact === '' ? {} : { contact: { name, ...link } };
  return {
    ...contract,
    info: { ...info, title: name, ...own },
    servers: [{ url: `${publicUrl}${BASE}` }],
  };
}

/** What is new in the API, from the sections "API" of CHANGELOG.md. */
function changelogPage(frame: SiteFrame): Html {
  return renderPage({
    title: 'Changelog',
    path: '/changelog',
    ...frame,
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
