/**
 * The pages under /docs: an overview, the guides and the reference.
 *
 * The guides are Markdown files. In them, `{{api}}` stands for the address of the API, and
 * `{{defaultLimit}}` for the limit of a key. A test runs every example.
 */
import { readFileSync } from 'node:fs';
import { type Html, html } from '../../../pages/html.ts';
import { type Link, renderPage } from '../../../pages/layout.ts';
import { shownNumber } from '../../../pages/shown-values.ts';
import type { Contract } from './contract.ts';
import { type Article, renderArticle } from './markdown.ts';
import { makeReference } from './reference.ts';

/** The name of a guide, in its file and its address, and what it is about. */
export const GUIDES = {
  'first-call': 'From nothing to a game with its cover, and how to keep a key secret',
  search: 'Find games by title, with filters and spelling errors',
  folder: 'Find the games and covers of files by their names',
  pages: 'Draw lists of games with their covers, and read a long list to its end',
  copy: 'Copy the whole catalogue from one snapshot, and keep the copy current',
  limits: 'How many requests you have, how to save some, and what each error means',
} as const;
export type GuideName = keyof typeof GUIDES;

interface Guide extends Article {
  readonly path: string;
  /** What it is about, in one sentence. */
  readonly about: string;
}

/** What the guides say about this installation. */
export interface GuideFacts {
  /** The address of the API, with the base path. */
  readonly api: string;
  /** The limit of a key for which no other was set, in requests per minute. */
  readonly defaultLimit: number;
}

/** A heading of a page, with those below it. */
export interface ContentsEntry {
  readonly id: string;
  readonly text: string;
  readonly parts?: readonly ContentsEntry[];
}

const REFERENCE: Link = { path: '/docs/reference', text: 'API reference' };

/**
 * @returns the pages by their paths
 * @throws Error if the file of a guide is missing or does not begin with a title
 */
export function makeDocs(contract: Contract, facts: GuideFacts): ReadonlyMap<string, Html> {
  const guides = Object.entries(GUIDES).map(([name, about]) => ({
    ...renderArticle(guideText(name as GuideName, facts), name),
    path: `/docs/${name}`,
    about,
  }));
  const links = [
    { path: '/docs', text: 'Overview' },
    ...guides.map(({ path, title }) => ({ path, text: title })),
    REFERENCE,
  ];
  const reference = makeReference(contract, facts.api);
  const pages = [
    docsPage({ path: '/docs', text: 'Documentation' }, overview(guides), links),
    ...guides.map(({ path, title: text, body, headings }, at) =>
      docsPage({ path, text }, html`${body}${nextLink(links[at + 2])}`, links, headings),
    ),
    docsPage(REFERENCE, reference.body, links, reference.contents),
  ];
  return new Map(links.map(({ path }, at) => [path, pages[at]]));
}

/** The Markdown of a guide. */
export function guideText(name: GuideName, { api, defaultLimit }: GuideFacts): string {
  return readFileSync(new URL(`./guides/${name}.md`, import.meta.url), 'utf8')
    .replaceAll('{{api}}', api)
    .replaceAll('{{defaultLimit}}', shownNumber(defaultLimit));
}

/**
 * The layout of every page: all pages in a list on the left, with the headings of the page itself. On a
 * phone the list stands below the text, and a link leads to it.
 */
function docsPage(
  { path, text: title }: Link,
  body: Html,
  pages: readonly Link[],
  contents: readonly ContentsEntry[] = [],
): Html {
  const isReference = path === REFERENCE.path;
  return renderPage({
    title,
    filesPath: '',
    path: '/docs',
    width: 'wide',
    styles: ['/docs/docs.css'],
    scripts: isReference ? ['/docs/reference.js'] : [],
    body: html`<div class="sided">
        <article${!isReference && html` class="narrow"`}>
          <p class="to-side"><a href="#contents">All pages</a></p>
          <h1>${title}</h1>
          ${body}
        </article>
        <nav id="contents" aria-label="Docs">
          <ul>
            ${pages.map((link) =>
              link.path === path
                ? html`<li><a href="${path}" aria-current="page">${link.text}</a>${contentsList(contents)}</li>`
                : html`<li><a href="${link.path}">${link.text}</a></li>`,
            )}
          </ul>
        </nav>
      </div>`,
  });
}

function contentsList(entries: readonly ContentsEntry[]): Html | undefined {
  if (entries.length === 0) return undefined;
  return html`<ul>${entries.map(
    ({ id, text, parts = [] }) => html`<li><a href="#${id}">${text}</a>${contentsList(parts)}</li>`,
  )}</ul>`;
}

function nextLink({ path, text }: Link): Html {
  return html`<p class="ruled">Next: <a href="${path}">${text}</a></p>`;
}

function overview(guides: readonly Guide[]): Html {
  return html`<p class="lead">The API gives you the platforms, games and approved covers of the catalogue as JSON. Start with a first call, or look up an endpoint.</p>
          <ul class="columns">
            ${guides.map(({ path, title, about }) => tile(path, title, about))}
            ${tile(REFERENCE.path, REFERENCE.text, 'Every endpoint, with code to copy and a form to try it')}
          </ul>
          <h2>For programs</h2>
          <ul>
            <li><a href="/openapi.json">OpenAPI document</a>: the whole contract, to generate a client or import it into a tool.</li>
          </ul>`;
}

function tile(path: string, title: string, about: string): Html {
  return html`<li class="card"><strong><a href="${path}">${title}</a></strong>${about}</li>`;
}
