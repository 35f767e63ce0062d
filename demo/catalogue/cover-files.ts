/**
 * Makes plausible rows of `cover_files` for a cover: one to three sizes of one image, in pixels and
 * bytes, with the shape of the box. The images do not exist.
 */
import type { Row } from '../../lib/database/database.ts';
import type { Random } from './random.ts';

/** The ratio of width to height of the front of a box. */
export type Shape = readonly [width: number, height: number];

/** The longest side of each variant, in pixels. That of an original varies from scan to scan. */
const VARIANTS = [
  ['original', 2400],
  ['large', 1000],
  ['thumb', 250],
] as const;

// MIME types and typical bytes per pixel.
const FORMATS = {
  png: ['image/png', 1.4],
  jpg: ['image/jpeg', 0.35],
  webp: ['image/webp', 0.22],
} as const;
const SHARE_UNMEASURED = 0.02;

/**
 * Makes the rows of a cover's files.
 * @param firstId the id of the first file; the others count up from it
 * @param type of the cover, which determines the shape: "spine", "cart", "disc" or any other
 * @param folder the folder of their paths, without a trailing slash
 */
export function makeFiles(
  random: Random,
  count: number,
  firstId: number | string,
  coverId: number | string,
  type: string | null,
  shape: Shape,
  folder: string,
): Row[] {
  const shapes = { spine: [shape[0] * 0.12, shape[1]], cart: [4, 3], disc: [1, 1] } as const;
  const [across, up] = shapes[type as keyof typeof shapes] ?? shape;
  const scanned = random.next();
  const original = scanned < 0.45 ? 'png' : scanned < 0.8 ? 'jpg' : 'webp';
  return VARIANTS.slice(0, count).map(([variant, longestSide], number) => {
    const extension = variant === 'original' ? original : 'webp';
    const [mimeType, bytesPerPixel] = FORMATS[extension];
    const scan = variant === 'original' ? 0.5 + random.next() * 0.75 : 1;
    const unit = Math.round(longestSide * scan) / Math.max(across, up);
    const [width, height] = [Math.round(across * unit), Math.round(up * unit)];
    const bytes = Math.round(width * height * bytesPerPixel * (0.8 + random.next() * 0.4));
    const id =
      typeof firstId === 'number' ? firstId + number : String(BigInt(firstId) + BigInt(number));
    const sizes = random.happens(SHARE_UNMEASURED) ? [null, null, null] : [width, height, bytes];
    return [
      id,
      coverId,
      variant,
      mimeType,
      ...sizes,
      `${folder}/${coverId}-${variant}.${extension}`,
    ];
  });
}
