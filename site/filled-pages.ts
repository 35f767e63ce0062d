/**
 * The fixed pages with what they say about the catalogue, filled in once for each generation, when a page is
 * first asked for.
 */
import { html } from '../lib/pages/html.ts';
import { countOf } from '../lib/pages/shown-values.ts';
import type { Resource } from '../proxy/http/resource.ts';
import type { CurrentGeneration, Generation } from '../proxy/snapshot/generation.ts';
import { chooseExamples, type Examples, fillIn } from './docs/examples.ts';
import { newestCovers } from './explore/newest-covers.ts';
import { originOf } from './explore/page.ts';
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
