/**
 * The fixed pages with what they say about the catalogue, filled in once for each generation, when a page is
 * first asked for.
 */
import type { Cover } from '../client/contract-types.ts';
import { type Html, html } from '../lib/pages/html.ts';
import { countOf } from '../lib/pages/shown-values.ts';
import type { Resource } from '../proxy/http/resource.ts';
import type { CurrentGeneration, Generation } from '../proxy/snapshot/generation.ts';
import { chooseExamples, type Examples, fillIn, parseRecords } from './docs/examples.ts';
import { pathOf } from './explore/address.ts';
import { card, coverImage, originOf } from './explore/page.ts';
import { HTML, makePage, type Page, pageResource } from './static/page-responses.ts';
import type { SitePages } from './static/pages.ts';

/** @returns the page at a path; undefined if there is none */
export function makeFilledPages(
  pages: SitePages,
  current: CurrentGeneration,
  hasExplorer: boolean,
): (path: string) => Resource | undefined {
  // Not the generation itself, which would stay in memory.
  let filled:
    | { id?: string | undefined; examples: Examples; pages: Map<string, Resource> }
    | undefined;

  return (path) => {
    const page = pages.get(path);
    if (page === undefined) return undefined;
    const generation = current();
    if (filled === undefined || filled.id !== generation?.id) {
      filled = { id: generation?.id, examples: chooseExamples(generation), pages: new Map() };
    }
    const known = filled.pages.get(path);
    if (known !== undefined) return known;
    const isPage = page.type === HTML;
    const made = pageResource(isPage ? fill(page, filled.examples, generation) : page);
    filled.pages.set(path, made);
    return made;
  };

  function fill({ content }: Page, examples: Examples, generation: Generation | undefined): Page {
    const text = fillIn(content, examples, generation)
      .replace('{{counts}}', () => countsOf(generation))
      .replace('{{newest}}', () => newestCovers(generation, hasExplorer).toString());
    return makePage(HTML, text, { imageOrigin: originOf(generation) });
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
