/**
 * The fixed pages with what they say about the catalogue, filled in once for each generation, when a page is
 * first asked for.
 */
import type { Cover } from '../client/contract-types.ts';
import { type Html, html } from '../lib/pages/html.ts';
import { countOf } from '../lib/pages/shown-values.ts';
import type { Resource } from '../proxy/http/resource.ts';
import type { SiteParts } from '../proxy/serve/open-site.ts';
import type { Generation } from '../proxy/snapshot/generation.ts';
import {
  chooseExamples,
  type Examples,
  fillInNames,
  fillInResponses,
  parseRecords,
  withoutBraces,
} from './docs/examples.ts';
import { pathOf } from './explore/address.ts';
import { card, coverImage, originOf } from './explore/page.ts';
import { HTML, makePage, type Page, pageResource } from './static/page-responses.ts';
import type { SitePages } from './static/pages.ts';

/** @returns the page at a path; undefined if there is none */
export function makeFilledPages(
  pages: SitePages,
  { current }: Pick<SiteParts, 'current'>,
  hasExplorer: boolean,
): (path: string) => Promise<Resource> | undefined {
  // Not the generation itself, which would stay in memory.
  let filled:
    | { id?: string | undefined; examples: Examples; pages: Map<string, Promise<Resource>> }
    | undefined;

  return (path) => {
    const page = pages.get(path);
    if (page === undefined) return undefined;
    const generation = current();
    if (filled === undefined || filled.id !== generation?.id) {
      const examples = chooseExamples(generation);
      filled = { id: generation?.id, examples, pages: new Map() };
    }
    const known = filled.pages.get(path);
    if (known !== undefined) return known;
    const made = fill(page, filled.examples, generation).then(pageResource);
    filled.pages.set(path, made);
    return made;
  };

  async function fill(page: Page, examples: Examples, generation: Generation | undefined) {
    if (page.type !== HTML) return page;
    const named = fillInNames(page.content, examples)
      .replace('{{counts}}', () => countsOf(generation))
      .replace('{{newest}}', () => withoutBraces(newestCovers(generation, hasExplorer)));
    const imageOrigin = originOf(generation);
    const text = await fillInResponses(named, generation);
    return makePage(HTML, text, { imageOrigin });
  }
}

function countsOf(generation: Generation | undefined): string {
  if (generation === undefined) return 'The catalogue is being prepared';
  const { platforms, games, covers } = generation.manifest.counts;
  return html`${countOf(covers, 'cover')} of ${countOf(games, 'game')} on ${countOf(platforms, 'platform')}`.toString();
}

const MOST_NEWEST = 6;
const SMALL = { sizes: '(max-width: 40rem) 45vw, 11rem', width: 176, isFirst: true };

/** The newest covers, one of each game. @param hasExplorer whether the covers link to their games there */
function newestCovers(generation: Generation | undefined, hasExplorer: boolean): Html {
  const origin = originOf(generation);
  const body = generation?.recentCovers.bytes.toString() ?? '{"data":[]}';
  const { data } = parseRecords<{ readonly data: readonly Cover[] }>(body);
  const fronts = data.filter(({ type }) => type?.toLowerCase() === 'front');
  const byGame = new Map<string, Html>();
  for (const cover of fronts.length > 0 ? fronts : data) {
    const { slug, title, platform } = cover.game;
    const path = pathOf(platform.slug, slug);
    if (byGame.has(path) || byGame.size === MOST_NEWEST) continue;
    const image = coverImage(cover, { ...SMALL, origin });
    const link = hasExplorer ? path : undefined;
    byGame.set(path, card(link, image, 'No preview', title, platform.name));
  }
  if (byGame.size === 0) return html`<p>No covers yet.</p>`;
  return html`<ul class="grid">${[...byGame.values()]}</ul>`;
}
