/**
 * Reads the file of blocked addresses, whenever it changes. Invariant: the list in use is always a whole
 * file without a fault; a file that is damaged, or gone, leaves the list as it is.
 */
import { type Stats, statSync } from 'node:fs';
import path from 'node:path';
import { readBoundedFileSync } from '../../program/files/bounded-file.ts';
import { type AddressRanges, parseAddressRanges } from './address-ranges.ts';

/** Enough for 40,000 ranges. Reading so many takes 0.2 s, in which the first thread answers nothing. */
const LARGEST_FILE = 2 ** 20;

export interface BlockedFile {
  /**
   * Reads the file if it has changed.
   * @throws Error that names the file and its wrong lines, or says why it cannot be read
   */
  refresh(): Promise<void>;
}

/**
 * @param file empty if no address is blocked
 * @param announce called with the list at first, and whenever it changes
 */
export function makeBlockedFile(
  file: string,
  announce: (ranges: AddressRanges) => void,
): BlockedFile {
  let read: string | undefined;
  let fault: Error | undefined;
  return {
    async refresh() {
      if (file === '') return;
      const version = explaining(file, () => versionOf(statSync(file)));
      if (version !== read) {
        read = version;
        fault = undefined;
        try {
          announce(explaining(file, () => readBlockedFile(file)));
        } catch (error) {
          fault = error as Error;
        }
      }
      // Until the file changes again.
      if (fault !== undefined) throw fault;
    },
  };
}

/**
 * Checks the file when the proxy starts.
 * @throws Error that continues a sentence that begins with the name of the variable
 */
export function checkBlockedFile(file: string): void {
  if (file === '') return;
  try {
    readBlockedFile(file);
  } catch (cause) {
    throw new Error(`is ${path.resolve(file)}: ${(cause as Error).message}`, { cause });
  }
}

/** @throws Error that names the wrong lines, or says why the file cannot be read */
export function readBlockedFile(file: string): AddressRanges {
  return parseAddressRanges(readBoundedFileSync(file, LARGEST_FILE).toString('utf8'));
}

/** Names the file in an error. */
function explaining<T>(file: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new Error(`${path.basename(file)}: ${(cause as Error).message}`, { cause });
  }
}

/** Differs whenever a file was written or replaced, even within one tick of its clock. */
function versionOf({ mtimeMs, ino, size }: Stats): string {
  return `${mtimeMs} ${ino} ${size}`;
}
