/** The page of a game: its facts and all of its covers. */
import { type Html, html } from '../../../pages/html.ts';
import { pathOf, searchPath } from '../content/address.ts';
import { capitalise } from '../content/filters.ts';
import type { Cover, Game } from '../content/records.ts';
import { coverImage } from './cover-image.ts';
import { facts } from './facts.ts';
import { apiCall, countOf, crumbs, explorerPage, type PageContext } from './page.ts';

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
  return html`${names.map((name, index) => html`${index > 0 && ', '}<a href="${genrePath(name)}" rel="nofollow">${name}</a>`)}`;
}

/** The path of a search for all games of a genre. */
function genrePath(genre: string): string {
  const none = { q: undefined, platform: undefined, region: undefined, type: undefined };
  return searchPath({ ...none, sort: undefined, page: undefined, genre });
}

function coverGrid({ slug, platform }: Game, covers: readonly Cover[], context: PageContext): Html {
  return html`<ul class="grid" data-grid>
  ${covers.map((cover, index) => {
    const image = coverImage(cover, {
      origin: context.imageOrigin,
      sizes: IMAGE_SIZES,
      width: IMAGE_WIDTH,
      alt: '',
      isFirst: index < FIRST_IMAGES,
    });
    return html`<li><a class="game" href="${pathOf(platform.slug, slug, cover.id)}">
  <span class="art">${image ?? html`<span class="no-cover">No preview</span>`}</span>
  <strong>${typeOf(cover)}</strong>
  <span class="faint">${cover.region ?? 'Unknown region'}</span>
</a></li>`;
  })}
</ul>`;
}

/** The type of a cover as a heading, such as "Front". */
export function typeOf({ type }: Cover): string {
  return type === null ? 'Unknown type' : capitalise(type);
}
