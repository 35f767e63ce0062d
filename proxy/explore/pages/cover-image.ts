/** The image of a cover, in the file that suits the size at which it is shown. */
import { type Html, html } from '../../../pages/html.ts';
import type { Cover, CoverFile } from '../content/records.ts';

export interface ImageOptions {
  /** The only origin from which images may be loaded. */
  readonly origin: string | undefined;
  /** The width at which it is shown: the value of the attribute `sizes`, and in pixels for old browsers. */
  readonly sizes: string;
  readonly width: number;
  /** '' if the text next to the image says the same. */
  readonly alt: string;
  /** Whether it is visible at once, on most screens. */
  readonly isFirst?: boolean;
}

/** @returns undefined if the cover has no file that the page may load */
export function coverImage(cover: Cover, options: ImageOptions): Html | undefined {
  const { origin, sizes, width, alt, isFirst = false } = options;
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

interface Measured extends CoverFile {
  readonly width: number;
  readonly height: number;
}

function isAt(url: string, origin: string | undefined): boolean {
  return origin !== undefined && URL.canParse(url) && new URL(url).origin === origin;
}
