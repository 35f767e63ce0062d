/**
 * Writes PNG files (ISO/IEC 15948) of pictures with at most 16 colours. A picture has few pixels, and the
 * file has each of them as a square, so that one picture gives files of several sizes.
 */
import { crc32, deflateSync } from 'node:zlib';

/** Red, green and blue, from 0 to 255 each. */
export type Colour = readonly [red: number, green: number, blue: number];

export interface Picture {
  readonly width: number;
  readonly height: number;
  /** For each pixel, row by row from the top, the index of its colour in `colours`. */
  readonly pixels: Uint8Array;
  /** At most 16. */
  readonly colours: readonly Colour[];
}

const SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
const BITS_PER_PIXEL = 4;
const INDEXED_COLOURS = 3;
/** The filter of a row that equals the row above: all of its bytes are 0, which compresses best. */
const FILTER_UP = 2;

/** @param scale the side of a pixel in the file: an even number, since a byte contains two pixels */
export function encodePng({ width, height, pixels, colours }: Picture, scale: number): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width * scale, 0);
  header.writeUInt32BE(height * scale, 4);
  header[8] = BITS_PER_PIXEL;
  header[9] = INDEXED_COLOURS;
  const bytesPerPixel = scale / 2;
  const bytesPerRow = 1 + width * bytesPerPixel;
  const rows = Buffer.alloc(bytesPerRow * height * scale);
  for (let y = 0; y < height; y++) {
    const row = y * scale * bytesPerRow;
    for (let x = 0; x < width; x++) {
      const both = pixels[y * width + x] * 0x11;
      const at = row + 1 + x * bytesPerPixel;
      for (let i = at; i < at + bytesPerPixel; i++) rows[i] = both;
    }
    for (let copy = 1; copy < scale; copy++) rows[row + copy * bytesPerRow] = FILTER_UP;
  }
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('PLTE', Buffer.from(colours.flat())),
    chunk('IDAT', deflateSync(rows, { level: 3 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** A chunk: its length, its type, its content, and the checksum of type and content. */
function chunk(type: string, content: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length);
  const checked = Buffer.concat([Buffer.from(type, 'latin1'), content]);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(checked));
  return Buffer.concat([length, checked, checksum]);
}
