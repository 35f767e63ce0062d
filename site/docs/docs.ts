/**
 * The pages under /docs: an overview, the guides and the reference.
 *
 * The guides are Markdown files. In them, `{{api}}` stands for the address of the API, `{{defaultLimit}}` for
 * the limit of a key, and other names for examples of a generation (`examples.ts`). A test runs every example.
 * Each is served as Markdown, too, for programs that read, and `/llms.txt` lists them.
 */
import { readFileSync } from 'node:fs';
import { type Html, html } from '../../lib/pages/html.ts';
import { DEFAULT_NAME, type Link, renderPage, type SiteFrame } from '../../lib/pages/layout.ts';
import { shownNumber } from '../../lib/pages/shown-values.ts';
import { BASE } from '../../proxy/http/request.ts';
import type { Contract } from './contract.ts';
import { type Examples, fillIn, type Shown } from './examples.ts';
import { type Article, readArticle } from './markdown.ts';
import { makeReference } from './reference.ts';

/** The name of a guide, in its file and its address, and what it is about. */
export const GUIDES = {
  'first-call': 'From nothing to a game with its cover, and how to keep a key secret',
  search: 'Find games by title, with filters and spelling errors',
  folder: 'Find the games and covers of files by their names',
  pages: 'Draw lists of games with their covers, and read a long list to its end',
  'keep-a-copy': 'A program that keeps a copy of the whole catalogue, night after night',
  copy: 'Copy the whole catalogue, mirror its files, and follow its changes',
  limits: 'How many requests you have, how to save some, and what each error means',
} as const;
export type GuideName = keyof typeof GUIDES;

/** Documents of other folders that are pages as well, by the names in their addresses. */
const DOCUMENTS = {
  files: {
    about: 'What is in games/*.json, covers/*.json and the other files of a copy',
    read: () => filesDocument(readFileSync(FORMAT, 'utf8')),
  },
  client: {
    about: 'The client for JavaScript and TypeScript, with recipes',
    read: () =>
      readFileSync(CLIENT, 'utf8')
        .replace("'snes'", "'{{platform}}'")
        .replace("'chrono-trigger'", "'{{game}}'"),
  },
};
const FORMAT = new URL('../../lib/format/README.md', import.meta.url);
const CLIENT = new URL('../../client/README.md', import.meta.url);

/** What the guides say about this installation. */
interface GuideFacts {
  /** The address of the API, with the base path. */
  readonly api: string;
  /** The limit of a key for which no other was set, in requests per minute. */
  readonly defaultLimit: number;
}

/** A page in the list of all pages. */
interface Entry extends Link, Omit<Article, 'title'> {
  /** What it is about, in one sentence. */
  readonly about: string;
  /** Whether it is there as Markdown, too. */
  readonly markdown?: string;
}

const REFERENCE = {
  path: '/docs/reference',
  text: 'API reference',
  about: 'Every endpoint, with code to copy and a form to try it',
};

/**
 * @returns functions that make the pages, by their paths, and the same as Markdown
 * @throws Error if the file of a guide is missing or does not begin with a title
 */
export function makeDocs(contract: Contract, facts: GuideFacts & { readonly frame: SiteFrame }) {
  const guides = Object.entries(GUIDES).map(([name, about]) => {
    return articleEntry(name, about, guideText(name as GuideName, facts));
  });
  const documents = Object.entries(DOCUMENTS).map(([name, { about, read }]) => {
    const text = read()
      .replaceAll('https://covers.example', originOf(facts.api))
      .replaceAll('the Cover Catalogue API', 'this API');
    return articleEntry(name, about, text);
  });
  const entries: readonly Entry[] = [
    ...guides,
    ...documents,
    { ...REFERENCE, ...makeReference(contract, facts.api) },
  ];
  const start: Entry = {
    path: '/docs',
    text: 'Documentation',
    about: 'Guides to the API of the cover catalogue, and its reference.',
    headings: [],
    render: async () => overview(entries),
  };
  const links = [{ path: '/docs', text: 'Overview' }, ...entries];
  const pages = [start, ...entries].map((page, at) => {
    const next = at > 0 ? entries[at] : undefined;
    const more = next && html`<p class="ruled">Next: <a href="${next.path}">${next.text}</a></p>`;
    const make = async (shown: Shown) =>
      docsPage(page, html`${await page.render(shown)}${more}`, links, facts.frame);
    return [page.path, make] as const;
  });
  return { pages: new Map(pages), texts: makeTexts([...guides, ...documents], contract, facts) };
}

/** What stands before the base path. */
function originOf(api: string): string {
  return api.slice(0, -BASE.length);
}

function articleEntry(name: string, about: string, markdown: string) {
  const { title, ...article } = readArticle(markdown, name);
  return { ...article, path: `/docs/${name}`, text: title, about, markdown };
}

/** The pages as Markdown, and the list of them (https://llmstxt.org). */
function makeTexts(
  entries: readonly ReturnType<typeof articleEntry>[],
  { paths }: Contract,
  { api, frame }: GuideFacts & { readonly frame: SiteFrame },
) {
  const type = 'text/markdown; charset=utf-8';
  const origin = originOf(api);
  const links = entries.map(
    ({ path, text, about }) => `- [${text}](${origin}${path}.md): ${about}`,
  );
  const endpoints = Object.entries(paths).map(([path, { get }]) => `- \`${path}\`: ${get.summary}`);
  const list = `# ${frame.site.name || DEFAULT_NAME}

> The platforms, games and approved covers of a catalogue of video games, read-only, as JSON. The address of the API is ${api}. Every request needs a key.

## Docs

${links.join('\n')}
- [OpenAPI document](${origin}/openapi.yaml): every endpoint, parameter and member

## Endpoints

${endpoints.join('\n')}
`;
  return [
    { path: '/llms.txt', type, contentFor: () => list },
    ...entries.map(({ path, markdown }) => {
      return { path: `${path}.md`, type, contentFor: (it: Examples) => fillIn(markdown, it) };
    }),
  ];
}

/** What the specification of the format says of the files that people read. Its subsections are for programs that serve. */
function filesDocument(format: string): string {
  const [, table = ''] = /^(\| name in a generation .*?)\n\n/ms.exec(format) ?? [];
  const section = (name: string) => {
    const [, found = ''] = format.split(`\n## ${name}\n`);
    return `## ${name}\n${found.split(/^###? /m)[0]}`;
  };
  const parts = [
    '# What is in the files',
    'The files of a snapshot, as `/snapshot` lists them and the archive has them. You need `manifest.json`, `platforms.json`, and the folders `games`, `covers` and `titles`; the others are for the API.',
    table,
    ...['`manifest.json`', 'Records and packs', 'Platforms'].map(section),
  ];
  // Links to other files of the source lead nowhere here.
  return parts
    .join('\n\n')
    .replaceAll('generation', 'snapshot')
    .replaceAll(/\]\([./]*openapi\.yaml\)/g, '](/docs/reference)')
    .replaceAll(/\[([^\]]+)\]\((?![/#]|https:)[^)]*\)/g, '$1');
}

/** What every guide says but the one that it leads to. */
const SETUP =
  'The examples need two environment variables, `COVERS_API` and `COVERS_KEY`: [set both](/docs/first-call#get-a-key).';

/** The Markdown of a guide. */
export function guideText(name: GuideName, { api, defaultLimit }: GuideFacts): string {
  const text = readFileSync(new URL(`./guides/${name}.md`, import.meta.url), 'utf8');
  // After the title and the first paragraph, which says whom the guide is for.
  const withSetup =
    name === 'first-call' ? text : text.replace(/\n\n.+\n\n/, (first) => `${first}${SETUP}\n\n`);
  return withSetup
    .replaceAll('{{api}}', api)
    .replaceAll('{{defaultLimit}}', shownNumber(defaultLimit));
}

/**
 * The layout of every page: all pages in a list on the left, with the headings of the page itself. On a
 * phone the list stands below the text, and a link leads to it.
 */
function docsPage(
  { path, text: title, about, headings, markdown }: Entry,
  body: Html,
  pages: readonly Link[],
  frame: SiteFrame,
): Html {
  const isReference = path === REFERENCE.path;
  return renderPage({
    title,
    description: about,
    markdown: markdown && `${path}.md`,
    ...frame,
    path: '/docs',
    width: 'wide',
    styles: ['/docs.css'],
    scripts: isReference ? ['/reference.js'] : [],
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
                ? html`<li><a href="${path}" aria-current="page">${link.text}</a>${contentsList(headings)}</li>`
                : html`<li><a href="${link.path}">${link.text}</a></li>`,
            )}
          </ul>
        </nav>
      </div>`,
  });
}

function contentsList(headings: Article['headings']): Html | undefined {
  if (headings.length === 0) return undefined;
  return html`<ul>${headings.map(
    ({ id, text, parts = [] }) => html`<li><a href="#${id}">${text}</a>${contentsList(parts)}</li>`,
  )}</ul>`;
}

function overview(entries: readonly Entry[]): Html {
  return html`<p class="lead">The API gives you the platforms, games and approved covers of the catalogue as JSON. Start with a first call, or look up an endpoint.</p>
          <ul class="columns">
            ${entries.map(({ path, text, about }) => html`<li class="card"><strong><a href="${path}">${text}</a></strong>${about}</li>`)}
          </ul>
          <p>For language models and other programs that read, each guide is also Markdown, at its address with <code>.md</code>. <a href="/llms.txt">llms.txt</a> lists them.</p>`;
}
