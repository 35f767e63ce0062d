/** The page of a game, with its facts and all of its covers, and that of a cover, with its files. */
import type { Cover, CoverFile, Game } from '../../client/contract-types.ts';
import { isFrontType } from '../../find/names/fronts.ts';
import { type Html, html } from '../../lib/pages/html.ts';
import {
  capitalise,
  countOf,
  dayElement,
  factList,
  isWebAddress,
} from '../../lib/pages/shown-values.ts';
import { pathOf, searchPath } from './address.ts';
import {
  apiCall,
  card,
  coverImage,
  crumbs,
  explorerPage,
  type PageContext,
  shownType,
  siteLink,
} from './page.ts';

const SMALL = { sizes: '(max-width: 40rem) 45vw, 14rem', width: 224 };
const FIRST_IMAGES = 5;

export function gamePage(game: Game, context: PageContext): Html {
  const { title, slug, description, platform } = game;
  const { imageOrigin: origin, generation } = context;
  const isFront = (cover: Cover) => isFrontType(generation.frontTypes, cover.type);
  const covers = [...(game.covers ?? [])].sort((a, b) => Number(isFront(b)) - Number(isFront(a)));
  const shown = covers.map((cover, index) => {
    const image = coverImage(cover, { ...SMALL, origin, isFirst: index < FIRST_IMAGES });
    const region = cover.region ?? 'Unknown region';
    return card(
      pathOf(platform.slug, slug, cover.id),
      image,
      'No preview',
      shownType(cover),
      region,
    );
  });
  return explorerPage(
    context.frame,
    `${title} · ${platform.name}`,
    html`${crumbs([pathOf(platform.slug), platform.name])}
<h1>${title}</h1>
${description !== null && html`<p class="lead text">${description}</p>`}
${factList([
  ['Platform', html`<a href="${pathOf(platform.slug)}">${platform.name}</a>`],
  ['Released', game.release_year],
  ['Genres', genreLinks(game.genres)],
  ['Developer', game.developer],
  ['Publisher', game.publisher],
  ['Website', siteLink(game.url)],
])}
<h2>${covers.length === 0 ? 'No covers yet' : countOf(covers.length, 'cover')}</h2>
${covers.length === 0 ? html`<p>No cover of this game has been approved.</p>` : html`<ul class="grid">${shown}</ul>`}
${apiCall(context)}`,
    `${countOf(covers.length, 'cover')} of ${title} for ${platform.name}.`,
    covers[0],
  );
}

function genreLinks(genres: string | null): Html | null {
  if (genres === null) return null;
  const names = genres.split(',').flatMap((name) => name.trim() || []);
  return html`${names.map((name, index) => html`${index > 0 && ', '}<a href="${searchPath({ genre: name })}" rel="nofollow">${name}</a>`)}`;
}

const LARGE = { sizes: '(max-width: 60rem) 90vw, 40rem', width: 640, isFirst: true };

export function coverPage(cover: Cover, context: PageContext): Html {
  const { game, region } = cover;
  const { platform } = game;
  const kind = region === null ? shownType(cover) : `${shownType(cover)}, ${region}`;
  const alt = `The cover of ${game.title}: ${kind}`;
  const image = coverImage(cover, { ...LARGE, origin: context.imageOrigin, alt });
  return explorerPage(
    context.frame,
    `${kind} · ${game.title}`,
    html`${crumbs([pathOf(platform.slug), platform.name], [pathOf(platform.slug, game.slug), game.title])}
<h1>${game.title}</h1>
<p class="lead">${kind}</p>
<div class="columns">
  <div class="art">${image ?? html`<p class="faint">This page cannot show the image. Open one of its files instead.</p>`}</div>
  <div>
    ${factList([
      ['Game', html`<a href="${pathOf(platform.slug, game.slug)}">${game.title}</a>`],
      ['Platform', html`<a href="${pathOf(platform.slug)}">${platform.name}</a>`],
      ['Type', cover.type && shownType(cover)],
      ['Region', region],
      ['Approved', cover.approved_at && dayElement(cover.approved_at)],
    ])}
    <h2>Files</h2>
    ${cover.files.length === 0 ? html`<p>This cover has no files.</p>` : html`<ul class="rows">${cover.files.map(fileRow)}</ul>`}
  </div>
</div>
${apiCall(context)}`,
    `${alt}.`,
    cover,
  );
}

function fileRow({ variant, mime_type, width, height, size_bytes, url }: CoverFile): Html {
  const name = capitalise(variant ?? 'file');
  const about = [
    width !== null && height !== null && `${width} × ${height}`,
    mime_type,
    size_bytes !== null && sizeOf(size_bytes),
  ];
  const link = isWebAddress(url) ? html`<a href="${url}" rel="noreferrer">${name}</a>` : name;
  return html`<li>${link} <span class="faint">${about.filter(Boolean).join(' · ')}</span></li>`;
}

function sizeOf(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`;
  const [amount, unit] = bytes < 1e6 ? [bytes / 1e3, 'kB'] : [bytes / 1e6, 'MB'];
  return `${amount.toLocaleString('en', { maximumSignificantDigits: 2 })} ${unit}`;
}
