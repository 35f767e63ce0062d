/**
 * The pages under /docs: an overview, the guides and the reference. Also the sections that their search
 * looks through, and a list of all pages for language models (llms.txt, https://llmstxt.org).
 */
import { type Html, html } from '../../../pages/html.ts';
import type { Link } from '../../../pages/layout.ts';
import type { Contract } from './contract.ts';
import { docsPage, type Section } from './docs-page.ts';
import { type Guide, type GuideFacts, readGuides } from './guides.ts';
import { makeReference } from './reference-page.ts';

export interface Docs {
  /** By their paths. */
  readonly pages: ReadonlyMap<string, Html>;
  readonly sections: readonly Section[];
  readonly llmsText: string;
}

const REFERENCE: Link = { path: '/docs/reference', text: 'API reference' };

/** @param publicUrl the address at which clients reach the proxy, without a slash at the end */
export function makeDocs(contract: Contract, publicUrl: string, facts: GuideFacts): Docs {
  const guides = readGuides(facts);
  const links = [
    { path: '/docs', text: 'Overview' },
    ...guides.map(({ path, title }) => ({ path, text: title })),
    REFERENCE,
  ];
  const reference = makeReference(contract, facts.api, links);
  return {
    pages: new Map([
      ['/docs', overview(guides, links)],
      ...guides.map((guide) => [guide.path, guidePage(guide, guides, links)] as const),
      [REFERENCE.path, reference.page],
    ]),
    sections: [...guides.flatMap(sectionsOf), ...reference.sections],
    llmsText: llmsText(guides, publicUrl),
  };
}

function overview(guides: readonly Guide[], pages: readonly Link[]): Html {
  return docsPage({
    title: 'Documentation',
    path: '/docs',
    pages,
    contents: [],
    body: html`<p class="lead">The API gives you the platforms, games and approved covers of the catalogue as JSON. Start with a first call, or look up an endpoint.</p>
          <ul class="tiles">
            ${guides.map(({ path, title, about }) => tile(path, title, about))}
            ${tile(REFERENCE.path, REFERENCE.text, 'Every endpoint, with code to copy and a form to try it')}
          </ul>
          <h2>For programs</h2>
          <ul>
            <li><a href="/openapi.json">OpenAPI document</a>: the whole contract, to generate a client or import it into a tool.</li>
            <li><a href="/llms.txt">llms.txt</a>: a list of these pages for language models.</li>
          </ul>`,
  });
}

function tile(path: string, title: string, about: string): Html {
  return html`<li><a class="tile" href="${path}"><strong>${title}</strong>${about}</a></li>`;
}

function guidePage(guide: Guide, guides: readonly Guide[], pages: readonly Link[]): Html {
  const at = guides.indexOf(guide);
  const next = guides[at + 1];
  const { path, title } = next ?? { ...REFERENCE, title: REFERENCE.text };
  return docsPage({
    title: guide.title,
    path: guide.path,
    pages,
    contents: guide.headings,
    body: html`${guide.body}
          <p class="next">Next: <a href="${path}">${title}</a></p>`,
  });
}

function sectionsOf({ path, title, sections }: Guide): Section[] {
  return sections.map(({ id, text, content }) => ({
    path: id === '' ? path : `${path}#${id}`,
    title: id === '' ? title : `${title}: ${text}`,
    content,
  }));
}

function llmsText(guides: readonly Guide[], publicUrl: string): string {
  const link = (path: string, title: string, about: string) =>
    `- [${title}](${publicUrl}${path}): ${about}\n`;
  return `# Cover Catalogue API

> A read-only JSON API over a catalogue of video-game covers: platforms, games, and the approved cover images of each game. Every request needs an API key.

## Guides

${guides.map(({ path, title, about }) => link(path, title, about)).join('')}
## Reference

${link('/docs/reference', 'API reference', 'every endpoint with its parameters and responses')}${link('/openapi.json', 'OpenAPI document', 'the contract, OpenAPI 3.1; needs no key')}${link('/changelog', 'Changelog', 'what is new')}`;
}
