/**
 * Draws the cover of a game in the style of its time: a landscape, a figure that only this game has, and
 * the title. The same facts give the same picture.
 */
import { crc32 } from 'node:zlib';
import { makeRandom, type Random } from '../catalogue/random.ts';
import {
  type Canvas,
  fillCircle,
  fillRectangle,
  makeCanvas,
  paint,
  type Rectangle,
} from './canvas.ts';
import { breakLines, drawText, LETTER_STEP, LINE_STEP, toLetters } from './letters.ts';
import type { Colour, Picture } from './png.ts';

export interface CoverFacts {
  readonly platform: string;
  readonly slug: string;
  readonly title: string;
  /** '' if it is unknown. */
  readonly region: string;
  /** "front", "back", "spine", "cart" or "disc"; any other is drawn as a front. */
  readonly type: string;
  /** In pixels of the picture. */
  readonly width: number;
  readonly height: number;
}

/** The colours of every picture, by their index. */
const SKY = 0;
const FAR = 1;
const NEAR = 2;
const FIGURE = 3;
const LIGHT = 4;
const DARK = 5;
const BAND = 6;
const GREY = 7;

const MOST_LINES = 4;
const BAND_HEIGHT = 11;

export function drawCover(facts: CoverFacts): Picture {
  const { width, height, type } = facts;
  const canvas = makeCanvas(width, height);
  if (type === 'spine') drawSpine(canvas, facts);
  else if (type === 'cart') drawCart(canvas, facts);
  else if (type === 'disc') drawDisc(canvas, facts);
  else if (type === 'back') drawBack(canvas, facts);
  else drawFront(canvas, facts);
  return { width, height, pixels: canvas.pixels, colours: coloursOf(facts) };
}

/** A random generator that gives every cover of a game the same scene. */
function randomOf({ platform, slug }: CoverFacts): Random {
  return makeRandom(crc32(`${platform}/${slug}`));
}

/** The platform decides the band, the game the scene. */
function coloursOf(facts: CoverFacts): Colour[] {
  const hue = randomOf(facts).below(360);
  return [
    fromHue(hue, 0.55, 0.24),
    fromHue(hue + 25, 0.5, 0.38),
    fromHue(hue + 50, 0.5, 0.5),
    fromHue(hue + 190, 0.85, 0.62),
    [250, 247, 235],
    fromHue(hue, 0.45, 0.1),
    fromHue(crc32(facts.platform) % 360, 0.6, 0.36),
    [128, 128, 134],
  ];
}

/** @param saturation, @param lightness from 0 to 1 */
function fromHue(hue: number, saturation: number, lightness: number): Colour {
  const channel = (shift: number): number => {
    const position = (shift + hue / 30) % 12;
    const spread = saturation * Math.min(lightness, 1 - lightness);
    return Math.round(
      255 * (lightness - spread * Math.max(-1, Math.min(position - 3, 9 - position, 1))),
    );
  };
  return [channel(0), channel(8), channel(4)];
}

function drawFront(canvas: Canvas, facts: CoverFacts): void {
  const { width, height } = canvas;
  drawScene(canvas, [0, BAND_HEIGHT, width, height - BAND_HEIGHT], facts);
  fillRectangle(canvas, [0, 0, width, BAND_HEIGHT], BAND);
  drawText(canvas, toLetters(facts.platform), [3, 2], LIGHT);
  const region = toLetters(facts.region).slice(0, 3);
  drawText(canvas, region, [width - 2 - region.length * LETTER_STEP, 2], LIGHT);
  drawTitle(canvas, facts, BAND_HEIGHT + 5);
}

/** A paragraph that nobody reads, and two pictures of the game. */
function drawBack(canvas: Canvas, facts: CoverFacts): void {
  const { width, height } = canvas;
  fillRectangle(canvas, [0, 0, width, height], DARK);
  fillRectangle(canvas, [0, 0, width, BAND_HEIGHT], BAND);
  drawText(canvas, toLetters(facts.platform), [3, 2], LIGHT);
  const shot = [Math.floor(width / 2) - 7, Math.floor(height / 3)] as const;
  for (const left of [5, width - 5 - shot[0]]) {
    fillRectangle(canvas, [left - 1, BAND_HEIGHT + 5, shot[0] + 2, shot[1] + 2], LIGHT);
    drawScene(canvas, [left, BAND_HEIGHT + 6, shot[0], shot[1]], facts);
  }
  const random = randomOf(facts);
  for (let y = BAND_HEIGHT + shot[1] + 14; y < height - 6; y += 4) {
    fillRectangle(canvas, [5, y, Math.round((width - 10) * (0.6 + random.next() * 0.4)), 1], GREY);
  }
}

function drawSpine(canvas: Canvas, facts: CoverFacts): void {
  const { width, height } = canvas;
  fillRectangle(canvas, [0, 0, width, height], SKY);
  fillRectangle(canvas, [0, 0, width, BAND_HEIGHT], BAND);
  const left = Math.max(0, Math.floor((width - LETTER_STEP + 1) / 2));
  for (const [index, letter] of [...titleOf(facts)].entries()) {
    drawText(canvas, letter, [left, BAND_HEIGHT + 4 + index * (LINE_STEP - 1)], LIGHT);
  }
}

function drawCart(canvas: Canvas, facts: CoverFacts): void {
  const { width, height } = canvas;
  fillRectangle(canvas, [0, 0, width, height], GREY);
  for (const x of [4, width - 7]) fillRectangle(canvas, [x, 8, 3, height - 16], DARK);
  const label: Rectangle = [14, 8, width - 28, height - 24];
  drawScene(canvas, label, facts);
  drawTitle(canvas, facts, 13, label);
}

function drawDisc(canvas: Canvas, facts: CoverFacts): void {
  const { width, height } = canvas;
  const centre = [width / 2, height / 2] as const;
  const radius = Math.min(width, height) / 2;
  drawScene(canvas, [0, 0, width, height], facts);
  drawTitle(canvas, facts, Math.round(height * 0.18), [14, 0, width - 28, height]);
  const isOutside = (x: number, y: number) =>
    Math.hypot(x + 0.5 - centre[0], y + 0.5 - centre[1]) > radius;
  paint(canvas, [0, 0, width, height], (x, y) => (isOutside(x, y) ? LIGHT : undefined));
  fillCircle(canvas, centre, radius * 0.2, GREY);
  fillCircle(canvas, centre, radius * 0.12, LIGHT);
}

/** A sky with a sun or stars, hills, and the figure of the game. */
function drawScene(canvas: Canvas, rectangle: Rectangle, facts: CoverFacts): void {
  const [left, top, width, height] = rectangle;
  const random = randomOf(facts);
  // Each part takes its numbers in the same order, so that all pictures of a game have the same scene.
  const isNight = random.happens(0.5);
  const sun = [left + width * (0.2 + random.next() * 0.6), top + height * 0.45] as const;
  const [slow, fast, shift] = [2 + random.next() * 3, 6 + random.next() * 8, random.next() * 6];
  fillRectangle(canvas, rectangle, SKY);
  if (isNight) {
    const stars = makeRandom(random.below(2 ** 31));
    for (let count = 0; count < width / 3; count++) {
      const star: Rectangle = [left + stars.below(width), top + stars.below(height), 1, 1];
      fillRectangle(canvas, star, LIGHT);
    }
  } else {
    const radius = Math.min(width, height) * 0.26;
    fillCircle(canvas, sun, radius, FAR);
    fillCircle(canvas, sun, radius * 0.75, NEAR);
  }
  const hills = [
    { waves: slow, rise: 0.32, colour: FAR },
    { waves: fast, rise: 0.14, colour: DARK },
  ];
  for (const { waves, rise, colour } of hills) {
    for (let x = 0; x < width; x++) {
      const wave = Math.sin((x / width) * waves + shift) * 0.07;
      const above = Math.round(height * (1 - rise - wave));
      fillRectangle(canvas, [left + x, top + above, 1, height - above], colour);
    }
  }
  drawFigure(canvas, rectangle, random);
}

/** A figure with two equal halves, like those of early games. */
function drawFigure(canvas: Canvas, [left, top, width, height]: Rectangle, random: Random): void {
  const half = 4;
  const cells = Array.from({ length: half * half * 2 }, () => random.happens(0.55));
  const size = Math.max(1, Math.floor(Math.min(width, height * 0.62) / (half * 2 + 3)));
  const side = size * half * 2;
  const x = left + Math.floor((width - side) / 2);
  const y = top + height - side - Math.max(2, Math.floor(height * 0.1));
  for (const isShadow of [true, false]) {
    for (const [index, isSet] of cells.entries()) {
      if (!isSet) continue;
      const row = Math.floor(index / half);
      for (const column of [index % half, half * 2 - 1 - (index % half)]) {
        const shadow = isShadow ? Math.ceil(size / 3) : 0;
        const cell: Rectangle = [x + column * size + shadow, y + row * size + shadow, size, size];
        fillRectangle(canvas, cell, isShadow ? DARK : FIGURE);
      }
    }
  }
}

/** The title, or its slug if there are no letters for it. */
function titleOf({ title, slug }: CoverFacts): string {
  const isLatin = /^[\P{L}\p{Script=Latin}]*$/u.test(title);
  return toLetters(isLatin ? title : slug.replaceAll('-', ' '));
}

/** The title in the middle of a part of the picture, in large letters if they fit. */
function drawTitle(
  canvas: Canvas,
  facts: CoverFacts,
  top: number,
  [left, , width]: Rectangle = [0, 0, canvas.width, canvas.height],
): void {
  const title = titleOf(facts);
  const fits = (scale: number) => Math.floor((width - 4) / (LETTER_STEP * scale));
  const isShort = title.split(' ').every(({ length }) => length <= fits(2));
  const scale = isShort && breakLines(title, fits(2)).length <= 2 ? 2 : 1;
  const lines = breakLines(title, fits(scale)).slice(0, MOST_LINES);
  for (const [index, line] of lines.entries()) {
    const x = left + Math.floor((width - line.length * LETTER_STEP * scale + scale) / 2);
    const y = top + index * LINE_STEP * scale;
    drawText(canvas, line, [x + scale, y + scale], DARK, scale);
    drawText(canvas, line, [x, y], LIGHT, scale);
  }
}
