import { readSync } from 'node:fs';

/**
 * Reads a part of an open file. Synchronous, because a promise costs more than a read from the page
 * cache.
 * @param target gets the bytes
 * @param at the index of the first byte in `target`
 * @param position the position of the first byte in the file
 * @param name the name of the file, for the error
 * @throws Error if the file ends before the part does
 */
export function readExactly(
  descriptor: number,
  target: Uint8Array,
  at: number,
  length: number,
  position: number,
  name: string,
): void {
  for (let done = 0; done < length; ) {
    const read = readSync(descriptor, target, at + done, length - done, position + done);
    if (read === 0) throw new Error(`${name} ends before byte ${position + length}.`);
    done += read;
  }
}
