/**
 * The images of the sample catalogue, as SVG: a landscape and a figure that only this game and type have, and
 * the title. The same facts give the same picture; the files of a cover differ only in their size.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { crc32 } from 'node:zlib';
import type { Row } from '../lib/database/database.ts';
import type { Catalogue } from './catalogue/load.ts';
import { makeRandom } from './catalogue/random.ts';

const MIME_TYPE = 'image/svg+xml';
/** The longest side of a variant in pixels. */
const LONGEST_SIDE: Readonly<Record<string, number>> = { original: 1000, large: 500, thumb: 250 };
/** The longest side of a picture in its own units, and the height of the band that names the platform. */
const SIDE = 250;
const BAND = 24;
/** Beside a title. */
const MARGIN = 6;
/** More than the width of most letters of a word, in parts of their height. */
const [CAPITAL, LETTER] = [0.88, 0.72];

/** SVG by the paths in the rows of the files. */
type Images = ReadonlyMap<string, string>;

/** Draws the files of every cover, and makes the rows of the files describe these images. */
export function drawCovers(catalogue: Catalogue): { catalogue: Catalogue; images: Images } {
  const [platforms, games, covers] = [catalogue.platforms, catalogue.games, catalogue.covers].map(
    (rows) => new Map([...rows].map((row) => [row[0], row])),
  );
  const images = new Map<string, string>();
  const coverFiles: Row[] = [];
  for (const [id, coverId, variant, , across, up] of catalogue.coverFiles) {
    const [, gameId, region, type] = covers.get(coverId) ?? [];
    const [, platformId, slug, title] = games.get(gameId ?? null) ?? [];
    const [, platform] = platforms.get(platformId ?? null) ?? [];
    // Some images of the sample catalogue were never measured.
    const shape = [Number(across ?? 1), Number(up ?? 1)];
    const scale = LONGEST_SIDE[String(variant)] / Math.max(...shape);
    const [width, height] = shape.map((side) => Math.round(side * scale));
    const texts = [platform, slug, title, region ?? '', type].map(String) as Texts;
    const image = drawCover(texts, width, height);
    const path = `${platform}/${slug}/${coverId}-${variant}.svg`;
    images.set(path, image);
    const sizes = across === null ? [null, null, null] : [width, height, Buffer.byteLength(image)];
    coverFiles.push([id, coverId, variant, MIME_TYPE, ...sizes, path]);
  }
  return { catalogue: { ...catalogue, coverFiles }, images };
}

/** Serves images by their paths, as the web server of a site would. @returns the port */
export async function serveImages(images: Images, host: string): Promise<number> {
  const server = createServer(({ url = '' }, response) => {
    const image = images.get(url.slice(1));
    response.writeHead(image === undefined ? 404 : 200, {
      'Content-Type': image === undefined ? 'text/plain' : MIME_TYPE,
      'Cache-Control': 'max-age=3600',
      'X-Content-Type-Options': 'nosniff',
    });
    response.end(image ?? 'Not found\n');
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, host, resolve);
  });
  return (server.address() as AddressInfo).port;
}

type Texts = [platform: string, slug: string, title: string, region: string, type: string];
type Box = readonly [left: number, top: number, width: number, height: number];

/** @param width, @param height in pixels */
function drawCover(texts: Texts, width: number, height: number): string {
  const [platform, slug, title, region, type] = texts;
  const [across, up] = [width, height].map((side) =>
    Math.round((side / Math.max(width, height)) * SIDE),
  );
  const whole: Box = [0, 0, across, up];
  // Not every machine has letters of all scripts.
  const isLatin = /^[\P{L}\p{Script=Latin}]*$/u.test(title);
  const name = isLatin ? title : slug.replaceAll('-', ' ').toUpperCase();
  const band = `${rectangle([0, 0, across, BAND], `hsl(${crc32(platform) % 360} 55% 32%)`)}
    <g font-size="11"><text x="7" y="16">${platform.toUpperCase()}</text>
    <text x="${across - 7}" y="16" text-anchor="end">${region.toUpperCase()}</text></g>`;
  const narrow = `${rectangle(whole, 'url(#sky)')}<text font-size="${Math.min(across / 2, 22)}"
    transform="translate(${across * 0.3} 12) rotate(90)">${escaped(name)}</text>`;
  const picture = `<use href="#scene" width="${across}" height="${up}"/>${band}${words(name, across, up)}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"
    viewBox="${whole.join(' ')}" font-family="Arial,sans-serif" font-weight="bold" fill="#fff">
    ${landscape(`${platform}/${slug}${type === 'front' ? '' : `/${type}`}`)}${type === 'spine' ? narrow : picture}</svg>`;
}

/** Draws the symbol "scene" of a game, or of one type of its covers: a sky with a sun or stars, hills, and a figure with equal halves. */
function landscape(game: string): string {
  const random = makeRandom(crc32(game));
  const hue = random.below(360);
  const colour = (turn: number, saturation: number, lightness: number) =>
    `hsl(${(hue + turn) % 360} ${saturation}% ${lightness}%)`;
  const stars = Array.from({ length: 14 }, () => `M${random.below(100)} ${random.below(55)}h0`);
  const light = random.happens(0.5)
    ? `<path stroke="#fff" stroke-linecap="round" d="${stars.join('')}"/>`
    : `<circle cx="${30 + random.below(40)}" cy="46" r="${15 + random.below(12)}"
        fill="${colour(60, 90, 70)}"/>`;
  const hill = (top: number, fill: string) => {
    const [rise, fall] = [random.below(24), random.below(24)];
    const line = `M0 ${top}C30 ${top - rise} 60 ${top + fall} 100 ${top - 4}`;
    return `<path fill="${fill}" d="${line}V100H0z"/>`;
  };
  const cells = Array.from({ length: 32 }, (_, index) => {
    const [row, column] = [index >> 2, index % 4];
    const cell = (at: number) => `M${at} ${row}h1v1h-1z`;
    return random.happens(0.55) ? cell(column) + cell(7 - column) : '';
  });
  return `<linearGradient id="sky" x2="0" y2="1"><stop stop-color="${colour(0, 65, 20)}"/>
    <stop offset="1" stop-color="${colour(40, 70, 52)}"/></linearGradient>
    <symbol id="scene" viewBox="0 0 100 100" preserveAspectRatio="xMidYMax slice">
    <path fill="url(#sky)" d="M0 0h100v100H0z"/>
    ${light}${hill(72, colour(20, 50, 36))}${hill(84, colour(0, 50, 14))}
    <g transform="translate(33 54) scale(4.3)" shape-rendering="crispEdges">
    <g fill="${colour(0, 60, 9)}"><path id="figure" d="${cells.join('')}"/></g>
    <use href="#figure" x="-.4" y="-.4" fill="${colour(190, 90, 66)}"/></g></symbol>`;
}

function rectangle([left, top, width, height]: Box, fill: string): string {
  return `<path fill="${fill}" d="M${left} ${top}h${width}v${height}h-${width}z"/>`;
}

/** A text in the middle of a picture, whose lines the browser breaks between words: the longest word fits. */
function words(text: string, across: number, up: number): string {
  const wanted = Math.min(34, Math.max(18, across / Math.max(5, text.length / 3)));
  const size = Math.min(wanted, (across - 2 * MARGIN) / Math.max(...text.split(' ').map(widthOf)));
  return `<foreignObject y="${BAND + 8}" width="${across}" height="${up}"><p
    xmlns="http://www.w3.org/1999/xhtml" style="margin:0 ${MARGIN}px;text-align:center;
    font-size:${size}px;line-height:1.1;color:#fff;-webkit-text-stroke:3px #000a;
    paint-order:stroke">${escaped(text)}</p></foreignObject>`;
}

/** The width of a word, in parts of the height of its letters. */
function widthOf(word: string): number {
  const capitals = word.match(/\p{Lu}/gu)?.length ?? 0;
  return capitals * CAPITAL + (word.length - capitals) * LETTER;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
