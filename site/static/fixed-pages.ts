/**
 * The pages outside the base that show nothing of the catalogue, and the files that pages load. They are made once
 * at start.
 */
import { readFileSync } from 'node:fs';
import { type Html, html } from '../../lib/pages/html.ts';
import { readFiles, renderPage, SHARED_FILES, type SiteFrame } from '../../lib/pages/layout.ts';
import { BASE } from '../../proxy/http/request.ts';
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
 * @returns the pages by their exact path
 * @throws Error when a file of the program is missing
 */
export function makeFixedPages(frame: SiteFrame): ReadonlyMap<string, Page> {
  return new Map([
    ['/changelog', makePage(HTML, changelogPage(frame).toString())],
    ['/robots.txt', makePage('text/plain; charset=utf-8', ROBOTS)],
    ...FOLDERS.flatMap(readFiles).map(
      ({ name, type, content }) => [`/${name}`, makePage(type, content)] as const,
    ),
  ]);
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
      <h2 id="promise">What is promised</h2>
      <p>Within <code>${BASE}</code>, members, parameters, headers and values may be added; none is removed or changes its meaning. So ignore what you do not know. What is deprecated is announced for a year before, with the headers <code>Deprecation</code> and <code>Sunset</code>.</p>
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
