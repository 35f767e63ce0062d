/**
 * Gives the covers of the sample catalogue their images: draws each in the sizes that its files have, and
 * changes the rows of the files, so that they describe these images.
 */
import type { Row } from '../../database/database.ts';
import type { Catalogue } from '../catalogue/load.ts';
import { drawCover } from './draw-cover.ts';
import { encodePng, type Picture } from './png.ts';

/** The longest side of a picture in its own pixels, and for each variant the side of these in the file. */
const LONGEST_SIDE = 125;
const SCALES: Readonly<Record<string, number>> = { original: 8, large: 4, thumb: 2 };

export interface DrawnCovers {
  readonly catalogue: Catalogue;
  /** PNG files by the paths in their rows. All of them take 6 MB; writing them to disk takes longer. */
  readonly images: ReadonlyMap<string, Buffer>;
}

export function drawCovers(catalogue: Catalogue): DrawnCovers {
  const pictureOf = makePictures(catalogue);
  const coverFiles: Row[] = [];
  const images = new Map<string, Buffer>();
  for (const row of catalogue.coverFiles) {
    const [id, coverId, variant, , width, height] = row;
    const { picture, folder } = pictureOf(coverId, Number(width ?? 0), Number(height ?? 0));
    const scale = SCALES[String(variant)];
    const bytes = encodePng(picture, scale);
    const file = `${folder}/${coverId}-${variant}.png`;
    images.set(file, bytes);
    // Some images of the sample catalogue were never measured.
    const sizes =
      width === null
        ? [null, null, null]
        : [picture.width * scale, picture.height * scale, bytes.length];
    coverFiles.push([id, coverId, variant, 'image/png', ...sizes, file]);
  }
  return { catalogue: { ...catalogue, coverFiles }, images };
}

interface CoverPicture {
  readonly picture: Picture;
  /** The folder of its files, such as "snes/chrono-trigger". */
  readonly folder: string;
}

/** @returns a function that draws the picture of a cover, with the shape that the first call states */
function makePictures({ platforms, games, covers }: Catalogue) {
  const platformSlugs = new Map([...platforms].map(([id, slug]) => [id, String(slug)]));
  const gameRows = new Map([...games].map((row) => [row[0], row]));
  const coverRows = new Map([...covers].map((row) => [row[0], row]));
  const pictures = new Map<Row[number], CoverPicture>();

  function draw(coverId: Row[number], across: number, up: number): CoverPicture {
    const [, gameId, region, type] = coverRows.get(coverId) ?? [];
    const [, platformId, slug, title] = gameRows.get(gameId) ?? [];
    const platform = platformSlugs.get(platformId) ?? '';
    const longest = Math.max(across, up);
    const side = (length: number) =>
      longest === 0 ? LONGEST_SIDE : Math.max(1, Math.round((length / longest) * LONGEST_SIDE));
    const picture = drawCover({
      platform,
      slug: String(slug),
      title: String(title),
      region: String(region ?? ''),
      type: String(type ?? ''),
      width: side(across),
      height: side(up),
    });
    return { picture, folder: `${platform}/${slug}` };
  }

  return (coverId: Row[number], across: number, up: number): CoverPicture => {
    const known = pictures.get(coverId);
    if (known !== undefined) return known;
    const drawn = draw(coverId, across, up);
    pictures.set(coverId, drawn);
    return drawn;
  };
}
