import { readSync } from 'node:fs';

/**
 * Reads a part of an open file. Synchronous, since a promise costs more than a read from the page cache.
 * @param target takes the bytes from `at` on
 * @param position in the file
 * @param name of the file, for the error
 * @throws Error when the file ends before the part does
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
