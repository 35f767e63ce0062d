/** Makes the content of an object from bytes in memory. */
import { hash } from 'node:crypto';
import type { Content } from './remote.ts';

export function contentOf(bytes: Buffer | string): Content {
  const buffer = typeof bytes === 'string' ? Buffer.from(bytes) : bytes;
  return {
    size: buffer.length,
    sha256: hash('sha256', buffer),
    async *open() {
      yield buffer;
    },
  };
}

/**
 * Reads bytes to their end.
 * @returns undefined if there are more than `most` bytes; the transfer is ended then
 */
export async function readUpTo(
  bytes: AsyncIterable<Buffer>,
  most: number,
): Promise<Buffer | undefined> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of bytes) {
    size += piece.length;
    if (size > most) return undefined;
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}
