/** The page of a game, with its facts and all of its covers, and that of a cover, with its files. */
import type { Cover, CoverFile, Game } from '../../client/contract-types.ts';
import { type Html, html } from '../../pages/html.ts';
import { pathOf, searchPath } from './address.ts';
import { capitalise } from './filters.ts';
import {
  apiCall,
  countOf,
  coverImage,
  crumbs,
  explorerPage,
  facts,
  type PageContext,
} from './page.ts';

const IMAGE_SIZES = '(max-width: 40rem) 45vw, 14rem';
const IMAGE_WIDTH = 224;
const FIRST_IMAGES = 5;

export function gamePage(game: Game, context: PageContext): Html {
  const { title, description, platform, covers = [] } = game;
  return explorerPage(
    `${title} · ${platform.name}`,
    html`${crumbs([pathOf(platform.slug), platform.name])}
<h1>${title}</h1>
${description !== null && html`<p class="lead text">${description}</p>`}
${facts([
  ['Platform', html`<a href="${pathOf(platform.slug)}">${platform.name}</a>`],
  ['Released', game.release_year],
  ['Genres', genreLinks(game.genres)],
  ['Developer', game.developer],
  ['Publisher', game.publisher],
])}
<h2>${covers.length === 0 ? 'No covers yet' : countOf(covers.length, 'cover')}</h2>
${covers.length === 0 ? html`<p>No cover of this game has been approved.</p>` : coverGrid(game, covers, context)}
${apiCall(context)}`,
  );
}

function genreLinks(genres: string | null): Html | null {
  if (genres === null) return null;
  const names = genres.split(',').flatMap((name) => name.trim() || []);
  return html`${names.map((name, index) => html`${index > 0 && ', '}<a href="${searchPath({ genre: name })}" rel="nofollow">${name}</a>`)}`;
}

function coverGrid({ slug, platform }: Game, covers: readonly Cover[], context: PageContext): Html {
  return html`<ul class="grid">
  ${covers.map((cover, index) => {
    const image = coverImage(cover, {
      origin: context.imageOrigin,
      sizes: IMAGE_SIZES,
      width: IMAGE_WIDTH,
      alt: '',
      isFirst: index < FIRST_IMAGES,
    });
    return html`<li><a class="game" href="${pathOf(platform.slug, slug, cover.id)}">
  <span class="art">${image ?? html`<span class="faint">No preview</span>`}</span>
  <strong>${typeOf(cover)}</strong>
  <span class="faint">${cover.region ?? 'Unknown region'}</span>
</a></li>`;
  })}
</ul>`;
}

/** The type of a cover as a heading, such as "Front". */
function typeOf({ type }: Cover): string {
  return type === null ? 'Unknown type' : capitalise(type);
}

const LARGE_SIZES = '(max-width: 60rem) 90vw, 40rem';
const LARGE_WIDTH = 640;

export function coverPage(cover: Cover, context: PageContext): Html {
  const { game, region } = cover;
  const { platform } = game;
  const kind = region === null ? typeOf(cover) : `${typeOf(cover)}, ${region}`;
  const image = coverImage(cover, {
    origin: context.imageOrigin,
    sizes: LARGE_SIZES,
    width: LARGE_WIDTH,
    isFirst: true,
    alt: `The cover of ${game.title}: ${kind}`,
  });
  return explorerPage(
    `${kind} · ${game.title}`,
    html`${crumbs([pathOf(platform.slug), platform.name], [pathOf(platform.slug, game.slug), game.title])}
<h1>${game.title}</h1>
<p class="lead">${kind}</p>
<div class="columns">
  <div class="art">${image ?? html`<p class="faint">This page cannot show the image. Open one of its files instead.</p>`}</div>
  <div>
    ${facts([
      ['Game', html`<a href="${pathOf(platform.slug, game.slug)}">${game.title}</a>`],
      ['Platform', html`<a href="${pathOf(platform.slug)}">${platform.name}</a>`],
      ['Type', cover.type === null ? null : typeOf(cover)],
      ['Region', region],
      ['Approved', cover.approved_at && day(cover.approved_at)],
    ])}
    <h2>Files</h2>
    ${cover.files.length === 0 ? html`<p>This cover has no files.</p>` : html`<ul class="rows">${cover.files.map(fileRow)}</ul>`}
  </div>
</div>
${apiCall(context)}`,
  );
}

function fileRow({ variant, mime_type, width, height, size_bytes, url }: CoverFile): Html {
  const about = [
    width !== null && height !== null && `${width} × ${height}`,
    mime_type,
    size_bytes !== null && sizeOf(size_bytes),
  ];
  return html`<li>${fileLink(url, capitalise(variant ?? 'file'))} <span class="faint">${about.filter(Boolean).join(' · ')}</span></li>`;
}

/** Only an address of the web becomes a link. */
function fileLink(url: string, name: string): Html {
  const isWeb = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
  return isWeb ? html`<a href="${url}" rel="noreferrer">${name}</a>` : html`<span>${name}</span>`;
}

function sizeOf(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`;
  const [amount, unit] = bytes < 1e6 ? [bytes / 1e3, 'kB'] : [bytes / 1e6, 'MB'];
  return `${amount.toLocaleString('en', { maximumSignificantDigits: 2 })} ${unit}`;
}

/** @param time in the form of RFC 3339 */
function day(time: string): Html {
  const shown = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' });
  return html`<time datetime="${time}">${shown.format(new Date(time))}</time>`;
}
