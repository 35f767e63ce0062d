/**
 * The layout of the pages under /docs: all pages in a list on the left, the search above it, and the
 * headings of the page itself. On a phone the list stands below the text, and a link leads to it.
 */
import { type Html, html } from '../../../pages/html.ts';
import { type Link, renderPage } from '../../../pages/layout.ts';

/** A part of a page that the search finds. */
export interface Section {
  /** With the anchor. */
  readonly path: string;
  readonly title: string;
  readonly content: string;
}

/** A heading of the page, with those below it. */
export interface ContentsEntry {
  readonly id: string;
  readonly text: string;
  readonly parts?: readonly ContentsEntry[];
}

export interface DocsPage {
  readonly title: string;
  readonly path: string;
  /** All pages of the docs, for the list. */
  readonly pages: readonly Link[];
  readonly contents: readonly ContentsEntry[];
  readonly body: Html;
  readonly styles?: readonly string[];
  readonly scripts?: readonly string[];
}

export function docsPage(page: DocsPage): Html {
  const { title, pages, body, styles = [], scripts = [] } = page;
  return renderPage({
    title,
    filesPath: '',
    path: '/docs',
    width: 'wide',
    styles: ['/docs/docs.css', ...styles],
    scripts: ['/docs/docs.js', ...scripts],
    body: html`<div class="docs">
        <article class="docs-text">
          <p class="to-contents"><a href="#contents">All pages</a></p>
          <h1>${title}</h1>
          ${body}
        </article>
        <div class="docs-side" id="contents">
          <form class="docs-search needs-script" role="search">
            <label class="unseen" for="docs-query">Search the docs</label>
            <input id="docs-query" type="search" placeholder="Search the docs" autocomplete="off" spellcheck="false">
            <p class="unseen" role="status"></p>
          </form>
          <ul class="docs-results" hidden></ul>
          <nav aria-label="Docs">
            <ul>
              ${pages.map((link) => pageLink(link, page))}
            </ul>
          </nav>
        </div>
      </div>`,
  });
}

function pageLink(link: Link, { path, contents }: DocsPage): Html {
  if (link.path !== path) return html`<li><a href="${link.path}">${link.text}</a></li>`;
  return html`<li><a href="${link.path}" aria-current="page">${link.text}</a>${contentsList(contents)}</li>`;
}

function contentsList(entries: readonly ContentsEntry[]): Html | undefined {
  if (entries.length === 0) return undefined;
  return html`<ul>${entries.map(
    ({ id, text, parts = [] }) => html`<li><a href="#${id}">${text}</a>${contentsList(parts)}</li>`,
  )}</ul>`;
}
