/**
 * The pages outside the base that are made once at start: the start page, the docs, the changelog and
 * the OpenAPI contract. Only the paths in the map exist. The path of a request is never used as a file
 * name.
 */
import { readFileSync } from 'node:fs';
import { readSharedFile, SHARED_FILES } from '../../pages/shared-files.ts';
import { JSON_TYPE } from '../http/message/response.ts';
import { BASE } from '../http/message/target.ts';
import { changelogPage } from './changelog-page.ts';
import { parseContract, resolveContract } from './docs/contract.ts';
import { makeDocs } from './docs/docs.ts';
import type { GuideFacts } from './docs/guides.ts';
import { CLOSED, DOCS_POLICY, HTML, PAGE_POLICY, START_POLICY } from './page-policies.ts';
import { makePage, type PageContent } from './page-responses.ts';
import { startPage } from './start-page.ts';

const CSS = 'text/css; charset=utf-8';
const SCRIPT = 'text/javascript; charset=utf-8';
const TEXT = 'text/plain; charset=utf-8';
const XML = 'application/xml; charset=utf-8';

/** The stylesheets and scripts of the pages, by the paths at which they are served. */
const FILES = [
  ['/start.css', './files/start.css'],
  ['/docs/docs.css', './files/docs.css'],
  ['/docs/docs.js', './files/docs.js'],
  ['/docs/reference.css', './files/reference.css'],
  ['/docs/reference.js', './files/reference.js'],
  ['/explore.css', '../explore/files/explore.css'],
  ['/explore.js', '../explore/files/explore.js'],
] as const;

/** What the pages say about this installation. */
export interface SiteFacts extends Omit<GuideFacts, 'api'> {
  /** The address at which clients reach the proxy, for examples and the contract. */
  readonly publicUrl: string;
}

/** The pages by their exact path. */
export type SitePages = ReadonlyMap<string, PageContent>;

/**
 * Makes the pages. Only the first thread does, because it takes 0.2 s.
 * @throws Error when a file of the program is missing
 */
export function openSite({ publicUrl, ...limits }: SiteFacts): SitePages {
  const api = `${publicUrl}${BASE}`;
  const whole = parseContract();
  const docs = makeDocs(resolveContract(whole), publicUrl, { ...limits, api });
  const contract = JSON.stringify({ ...whole, servers: [{ url: api }] });
  const pages = new Map<string, PageContent>([
    ['/', makePage(HTML, startPage(api).toString(), START_POLICY)],
    ['/changelog', makePage(HTML, changelogPage().toString(), PAGE_POLICY)],
    ['/llms.txt', makePage(TEXT, docs.llmsText)],
    ['/robots.txt', makePage(TEXT, robotsText(publicUrl))],
    ['/docs/search.json', makePage(JSON_TYPE, JSON.stringify(docs.sections))],
    ['/openapi.json', makePage(JSON_TYPE, contract, CLOSED, ['Access-Control-Allow-Origin', '*'])],
  ]);
  for (const [path, page] of docs.pages) {
    pages.set(path, makePage(HTML, page.toString(), DOCS_POLICY));
  }
  for (const [path, file] of FILES) {
    const content = readFileSync(new URL(file, import.meta.url));
    pages.set(path, makePage(path.endsWith('.css') ? CSS : SCRIPT, content));
  }
  for (const file of SHARED_FILES) {
    pages.set(`/${file.name}`, makePage(file.type, readSharedFile(file)));
  }
  const indexed = ['/', '/explore', '/status', '/changelog', ...docs.pages.keys()];
  pages.set('/sitemap.xml', makePage(XML, sitemap(publicUrl, indexed)));
  return pages;
}

/**
 * What search engines may read. The API needs a key, and the account pages a session. Of the explorer,
 * they may read platforms, games and covers, but not every combination of filters.
 */
function robotsText(publicUrl: string): string {
  return `User-agent: *
Disallow: ${BASE}/
Disallow: /account
Disallow: /moderation
Disallow: /explore?
Disallow: /explore/*?

Sitemap: ${publicUrl}/sitemap.xml
`;
}

function sitemap(publicUrl: string, paths: readonly string[]): string {
  const entries = paths.map((path) => `  <url><loc>${publicUrl}${path}</loc></url>\n`);
  return `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
${entries.join('')}</urlset>
`;
}
