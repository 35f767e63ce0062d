/**
 * The layout of every HTML page: head, header with navigation, the page's own part, footer. A page has
 * no inline scripts or styles and no files of other sites: the content security policy forbids both.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { domainToUnicode } from 'node:url';
import { type Html, html } from './html.ts';

export interface Link {
  readonly path: string;
  readonly text: string;
}

const EXPLORE: Link = { path: '/explore', text: 'Explore' };

/** The links in the header of every page. */
const NAVIGATION: readonly Link[] = [
  { path: '/docs', text: 'Docs' },
  { path: '/account/api-keys', text: 'API keys' },
];

/** The links in the footer of every page. */
const FOOTER: readonly Link[] = [
  { path: '/docs/reference', text: 'API reference' },
  { path: '/changelog', text: 'Changelog' },
  { path: '/status', text: 'Status' },
  { path: '/openapi.json', text: 'OpenAPI document' },
];

export const DEFAULT_NAME = 'Cover Catalogue API';
const CURRENT = html` aria-current="page"`;

/** What the owner has set of a site; a text is '' if it is not set. */
export interface SiteProfile {
  readonly name: string;
  /** An e-mail address, or the address of a page. */
  readonly contact: string;
  /** The address of the catalogue's website. Pages link to it by its name. */
  readonly url: string;
}

/** The address of a link to a contact. */
export function contactLink(contact: string): string {
  return contact.includes('://') ? contact : `mailto:${contact}`;
}

/** What all pages of a program have in common. */
export interface SiteFrame {
  readonly site: SiteProfile;
  readonly hasExplorer: boolean;
}

export interface PageParts {
  /** The title in the tab of the browser, without the name of the site; undefined for the start page. */
  readonly title: string | undefined;
  /** The prefix of the paths of the shared files: "" (the default) for the proxy, "/account" for the account pages. */
  readonly filesPath?: string;
  /** The path of the page in the navigation, if it is there or below a page that is. */
  readonly path?: string | undefined;
  /** Paths of stylesheets and scripts in addition to the shared ones. */
  readonly styles?: readonly string[];
  readonly scripts?: readonly string[];
  /** `column`: text of a comfortable width. `wide`: as wide as the header, for pages with several columns. */
  readonly width?: 'column' | 'wide';
  /** Whose pages these are; without it, they have the name of the product. */
  readonly site?: SiteProfile | undefined;
  /** The path of the page as Markdown, if there is one. */
  readonly markdown?: string | undefined;
  /** What link previews and search engines show. */
  readonly description?: string | undefined;
  /** The address of an image for link previews. */
  readonly image?: string | undefined;
  /** Whether there is an explorer, to which the header then links. */
  readonly hasExplorer?: boolean | undefined;
  /** Links in the header, in addition to those of every page. */
  readonly navigation?: readonly Link[];
  /** What stands at the end of the header, such as the name of the account. */
  readonly aside?: Html | undefined;
  /** The content of `main`, with the only `h1`. */
  readonly body: Html;
}

export function renderPage(parts: PageParts): Html {
  const { title, filesPath = '', path, description, image, hasExplorer, aside, body } = parts;
  const { markdown } = parts;
  const { styles = [], scripts = [], navigation = [], width = 'column', site } = parts;
  const name = site?.name || DEFAULT_NAME;
  return html`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>${title !== undefined && html`${title} · `}${name}</title>
    ${description !== undefined && html`<meta name="description" property="og:description" content="${description}">`}
    <meta property="og:title" content="${title ?? name}">
    <meta property="og:site_name" content="${name}">
    ${image !== undefined && html`<meta property="og:image" content="${image}">`}
    ${markdown !== undefined && html`<link rel="alternate" type="text/markdown" href="${markdown}">`}
    <link rel="icon" href="${filesPath}/icon.svg" type="image/svg+xml">
    <link rel="stylesheet" href="${filesPath}/design.css">
    ${styles.map((file) => html`<link rel="stylesheet" href="${file}">`)}
    <script src="${filesPath}/copy.js" type="module"></script>
    ${scripts.map((file) => html`<script src="${file}" type="module"></script>`)}
  </head>
  <body>
    <a class="skip" href="#content">Skip to the content</a>
    <header class="site">
      <a class="site-name" href="/"><img src="${filesPath}/icon.svg" alt="" width="28" height="28">${name}</a>
      <nav aria-label="Site">
        ${[...(hasExplorer ? [EXPLORE] : []), ...NAVIGATION, ...navigation].map(
          (link) => html`<a href="${link.path}"${link.path === path && CURRENT}>${link.text}</a>`,
        )}
      </nav>
      ${aside !== undefined && html`<div class="actions">${aside}</div>`}
    </header>
    <main id="content" class="${width}">
      ${body}
    </main>
    <footer class="site">
      <nav aria-label="More">
        ${FOOTER.map(({ path, text }) => html`<a href="${path}">${text}</a>`)}${ownLinks(site)}
      </nav>
    </footer>
  </body>
</html>
`;
}

/** The links in the footer that the owner has set. */
function ownLinks(site: SiteProfile | undefined): Html | undefined {
  return (
    site &&
    html`${!isLocal(site.url) && html`<a href="${site.url}">${site.name || shownHost(site.url)}</a>`}${site.contact !== '' && html`<a href="${contactLink(site.contact)}">Contact</a>`}`
  );
}

/** Whether an address is on this machine, as the defaults are: nobody else can follow a link to it. */
export function isLocal(address: string): boolean {
  return new URL(address).hostname === 'localhost';
}

/** The host of an address with its port, in letters: "münchen.example", not "xn--mnchen-3ya.example". */
export function shownHost(address: string): string {
  const { host, hostname } = new URL(address);
  return host.replace(hostname, () => domainToUnicode(hostname) || hostname);
}

/**
 * The files that every page loads. Each program serves them under a path of its own, so that pages always
 * match their design, even if the proxy and the account pages are of different versions.
 */
export const SHARED_FILES = new URL('./files/', import.meta.url);

/** The types of the files that pages load. */
const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** The stylesheets, scripts and icons in a folder. */
export function readFiles(folder: URL) {
  return readdirSync(folder).flatMap((name) => {
    const type = TYPES[extname(name)];
    // Such as what an editor keeps beside a file.
    if (type === undefined) return [];
    return [{ name, type, content: readFileSync(new URL(name, folder), 'utf8') }];
  });
}
