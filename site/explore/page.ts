/** What the pages of the explorer have in common: their frame, the call of the API, images of covers. */
import type { Cover, CoverFile, Game } from '../../client/contract-types.ts';
import { isFrontType } from '../../find/names/fronts.ts';
import { codeSamples } from '../../lib/pages/code-block.ts';
import { callSamples, type SampleCall } from '../../lib/pages/files/call-samples.js';
import { type Html, html } from '../../lib/pages/html.ts';
import { isLocal, renderPage, type SiteFrame, shownHost } from '../../lib/pages/layout.ts';
import { capitalise, isWebAddress } from '../../lib/pages/shown-values.ts';
import type { Generation } from '../../proxy/snapshot/generation.ts';
import { EXPLORE } from './address.ts';

export interface PageContext {
  readonly frame: SiteFrame;
  /** The address of the page, without the host. */
  readonly address: string;
  /** The call whose result the page shows; undefined if it shows none. */
  readonly call: SampleCall | undefined;
  /** The address of the API, with the base. */
  readonly apiUrl: string;
  /** The only origin from which the page may load images; undefined if there is none. */
  readonly imageOrigin: string | undefined;
  readonly generation: Generation;
}

/** A link in the path from the start of the explorer to a page. */
type Crumb = readonly [path: string, text: string];

/** @param description for link previews, as the image of the cover is */
export function explorerPage(
  frame: SiteFrame,
  title: string,
  body: Html,
  description?: string,
  cover?: Imaged,
): Html {
  return renderPage({
    title,
    description,
    image: previewOf(cover),
    path: EXPLORE,
    ...frame,
    styles: ['/explore.css'],
    scripts: ['/explore.js'],
    width: 'wide',
    body,
  });
}

/** @param crumbs the pages above this one, besides the start of the explorer */
export function crumbs(...crumbs: readonly Crumb[]): Html {
  const others = crumbs.map(([path, text]) => html` / <a href="${path}">${text}</a>`);
  return html`<nav class="faint" aria-label="You are here"><a href="${EXPLORE}">Explore</a>${others}</nav>`;
}

/** A link to the page of a game or a platform on the website of the catalogue. */
export function siteLink(url: string): Html | undefined {
  return isWebAddress(url) && !isLocal(url)
    ? html`<a href="${url}">${shownHost(url)}</a>`
    : undefined;
}

/** The call behind the page, for readers who want the same in their program. */
export function apiCall({ address, call, apiUrl }: PageContext): Html | undefined {
  if (call === undefined) return undefined;
  const start = `${address}${address.includes('?') ? '&' : '?'}format`;
  const formats = ['JSON', 'CSV'].map((name) => {
    const path = `${start}=${name.toLowerCase()}`;
    return html`<a class="button quiet small" href="${path}" rel="nofollow" download>${name}</a>`;
  });
  return html`<section class="ruled">
  <h2>This as an API call</h2>
  <p>The page shows the result of one call. To make it yourself, <a href="/account/api-keys">get an API key</a>, set <code>COVERS_KEY</code> to it, and <code>COVERS_API</code> to <code>${apiUrl}</code>.</p>
  ${codeSamples({ id: 'call', name: 'The call' }, callSamples(call))}
  ${call.path !== '/match' && html`<p class="actions">What this page shows: ${formats}</p>`}
</section>`;
}

/** The cover that stands for a game: its best front; without one, another cover that has files. */
export function coverOf({ cover, covers = [] }: Game): Cover | undefined {
  return cover ?? covers.find(({ files }) => files.length > 0) ?? covers[0];
}

/** The type of a cover as a heading, such as "Front". */
export function shownType({ type }: Pick<Cover, 'type'>): string {
  return type === null ? 'Unknown type' : capitalise(type);
}

/** The image of a cover that stands for its game. One that is not a front has its type in a corner. */
export function gameImage(
  cover: Cover,
  options: ImageOptions & Pick<Generation, 'frontTypes'>,
): Html | undefined {
  const image = coverImage(cover, options);
  if (image === undefined || isFrontType(options.frontTypes, cover.type)) return image;
  return html`${image}<span class="state">${shownType(cover)}</span>`;
}

/**
 * A game or a cover, in a list of class "grid".
 * @param path what it links to; undefined for no link
 * @param image undefined if there is none to show
 */
export function card(
  path: string | undefined,
  image: Html | undefined,
  missing: string,
  title: string,
  more: string,
): Html {
  const content = html`<span class="art">${image ?? html`<span class="faint">${missing}</span>`}</span>
  <strong>${title}</strong>
  <span class="faint">${more}</span>`;
  if (path === undefined) return html`<li class="game">${content}</li>`;
  return html`<li><a class="game" href="${path}">${content}</a></li>`;
}

/**
 * The origin of the images of a generation. A replica serves records with the images of its source.
 * @returns undefined if the address of the images is not one that a browser can load
 */
export function originOf(generation: Generation | undefined): string | undefined {
  const filesUrl = generation?.manifest.settings.files_url ?? '';
  if (!URL.canParse(filesUrl)) return undefined;
  const { origin } = new URL(filesUrl);
  return /^https?:\/\/[\w.:[\]-]+$/.test(origin) ? origin : undefined;
}

interface ImageOptions {
  /** The only origin from which images may be loaded. */
  readonly origin: string | undefined;
  /** The width at which it is shown: the value of the attribute `sizes`, and in pixels for old browsers. */
  readonly sizes: string;
  readonly width: number;
  /** By default '', for an image next to a text that says the same. */
  readonly alt?: string;
  /** Whether it is visible at once, on most screens. */
  readonly isFirst?: boolean;
}

/**
 * The image of a cover, in the file that suits the size at which it is shown.
 * @returns undefined if the cover has no file that the page may load
 */
export function coverImage(cover: Cover, options: ImageOptions): Html | undefined {
  const { origin, sizes, width, alt = '', isFirst = false } = options;
  const files = cover.files.filter(({ url }) => isAt(url, origin));
  const measured = files
    .filter((file): file is Measured => file.width !== null && file.height !== null)
    .sort((a, b) => a.width - b.width);
  const file = measured.find((each) => each.width >= width) ?? measured.at(-1) ?? files[0];
  if (file === undefined) return undefined;
  // The attributes give the browser the shape before the file is there, so that nothing moves.
  const size = file.width !== null && html` width="${file.width}" height="${file.height ?? ''}"`;
  const choice = measured.map((each) => `${each.url} ${each.width}w`).join(', ');
  const set = measured.length > 1 && html` srcset="${choice}" sizes="${sizes}"`;
  const loading = isFirst ? 'eager' : 'lazy';
  return html`<img src="${file.url}"${set}${size} alt="${alt}" loading="${loading}" decoding="async">`;
}

type Imaged = Partial<Pick<Cover, 'files'>> | null | undefined;

/** The address of an image for previews of links to a cover; undefined if the cover has none. */
export function previewOf(cover: Imaged) {
  return cover?.files?.find(({ url }) => isWebAddress(url))?.url;
}

type Measured = CoverFile & { readonly width: number; readonly height: number };

function isAt(url: string, origin: string | undefined): boolean {
  return origin !== undefined && URL.canParse(url) && new URL(url).origin === origin;
}
