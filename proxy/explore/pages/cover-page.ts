/** The page of a cover: the image as large as the screen allows, its facts, and its files. */
import { type Html, html } from '../../../pages/html.ts';
import { pathOf } from '../content/address.ts';
import { capitalise } from '../content/filters.ts';
import type { Cover, CoverFile } from '../content/records.ts';
import { coverImage } from './cover-image.ts';
import { facts } from './facts.ts';
import { typeOf } from './game-page.ts';
import { apiCall, crumbs, explorerPage, type PageContext } from './page.ts';

const IMAGE_SIZES = '(max-width: 60rem) 90vw, 40rem';
const IMAGE_WIDTH = 640;

export function coverPage(cover: Cover, context: PageContext): Html {
  const { game, region } = cover;
  const { platform } = game;
  const kind = region === null ? typeOf(cover) : `${typeOf(cover)}, ${region}`;
  const image = coverImage(cover, {
    origin: context.imageOrigin,
    sizes: IMAGE_SIZES,
    width: IMAGE_WIDTH,
    isFirst: true,
    alt: `The cover of ${game.title}: ${kind}`,
  });
  return explorerPage(
    `${kind} · ${game.title}`,
    html`${crumbs([pathOf(platform.slug), platform.name], [pathOf(platform.slug, game.slug), game.title])}
<h1>${game.title}<span class="kind">${kind}</span></h1>
<div class="cover">
  <div class="large-art">${image ?? html`<p class="no-cover">This page cannot show the image. Open one of its files instead.</p>`}</div>
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
