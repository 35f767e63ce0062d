/** Decodes what a source sends: compressed files, and deltas. */
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createZstdDecompress, constants as zlib } from 'node:zlib';
import { LARGEST_WINDOW_LOG } from '../../format/remote-layout.ts';
import { messageOf } from '../../program/failure.ts';
import { TransferError } from '../transfer/try-again.ts';
import { type SimilarFile, UndecodableError } from './source.ts';

const WINDOW = { [zlib.ZSTD_d_windowLogMax]: LARGEST_WINDOW_LOG };
/** In bytes. With the usual pieces of 16 KB, decoding takes twice as long. */
const LONGEST_PIECE = 256 * 1024;

/** Decompresses zstd. @throws UndecodableError if the body is damaged */
export function decompress(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  return decode(body, createZstdDecompress({ params: WINDOW, chunkSize: LONGEST_PIECE }));
}

/**
 * Makes a file from a delta and the similar file that the delta was made with.
 * @throws UndecodableError if the delta is damaged
 */
export function applyDelta(
  body: AsyncIterable<Buffer>,
  { content: dictionary }: SimilarFile,
): AsyncGenerator<Buffer> {
  const options = { dictionary, params: WINDOW, chunkSize: LONGEST_PIECE };
  return decode(body, createZstdDecompress(options));
}

/**
 * Decodes a body. Nothing is decoded ahead of the reader beyond the buffers of the decoder.
 * @throws UndecodableError if the body is damaged, TransferError if its transfer fails
 */
export async function* decode(
  body: AsyncIterable<Buffer>,
  decoder: Duplex,
): AsyncGenerator<Buffer> {
  // If the transfer fails, the decoder fails with the same error, which the loop then throws.
  const feeding = pipeline(body, decoder).catch(() => {});
  try {
    for await (const piece of decoder) yield piece;
  } catch (cause) {
    if (cause instanceof TransferError) throw cause;
    throw new UndecodableError(`the body cannot be decoded: ${messageOf(cause)}`, { cause });
  } finally {
    decoder.destroy();
    await feeding;
  }
}
