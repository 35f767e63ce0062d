/** /changelog: what is new in the API, from the sections "API" of CHANGELOG.md. */
import { readFileSync } from 'node:fs';
import { type Html, html } from '../../pages/html.ts';
import { renderPage } from '../../pages/layout.ts';
import { renderMarkdown } from './docs/markdown.ts';

const FILE = new URL('../../CHANGELOG.md', import.meta.url);

export function changelogPage(): Html {
  return renderPage({
    title: 'Changelog',
    filesPath: '',
    path: '/changelog',
    styles: ['/docs/docs.css'],
    body: html`<h1>Changelog</h1>
      <p class="lead">What is new in the API, the latest version first.</p>
      ${renderMarkdown(apiChanges(readFileSync(FILE, 'utf8')), { idPrefix: 'change' })}`,
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
