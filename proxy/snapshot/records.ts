/**
 * Reads the records of a generation from its packs: all games, or all covers. Packs are read
 * synchronously, mostly from the page cache: an asynchronous read costs three times as much, and would
 * have to keep the generation open until it ends.
 */
import type { ContentHash } from '../../format/content-hash.ts';
import type { RecordColumns } from '../../format/index/record-index.ts';
import { readExactly } from '../../generations/files/checked-files.ts';

export interface Records {
  readonly columns: RecordColumns;
  /**
   * The number of bytes of the records from `from` (inclusive) to `to` (exclusive), all of one platform,
   * with the separators between them.
   */
  sizeOf(from: number, to: number): number;
  /** Copies `length` bytes from the start of record `from` on, all of one platform, to `target`. */
  copy(from: number, length: number, target: Buffer, at: number): void;
  hashOf(number: number): ContentHash;
}

/** @param packOf returns the descriptor of the pack that contains a record */
export function makeRecords(columns: RecordColumns, packOf: (number: number) => number): Records {
  const { byteOffset, byteLength, hash } = columns;
  return {
    columns,
    sizeOf: (from, to) => byteOffset[to - 1] + byteLength[to - 1] - byteOffset[from],
    copy(from, length, target, at) {
      readExactly(packOf(from), target, at, length, byteOffset[from], 'A pack');
    },
    hashOf: (number) => [hash[number * 2], hash[number * 2 + 1]],
  };
}
