/**
 * Checks packs against the index: each record is at its offset, with its length and content hash.
 */
import { hashBytes } from '../format/content-hash.ts';
import type { RecordColumns } from '../format/index/record-index.ts';
import type { ManifestFile } from '../format/manifest.ts';
import { EMPTY_PACK, PACK_HEAD, PACK_TAIL, RECORD_SEPARATOR } from '../format/pack.ts';
import { checkFile } from './files/checked-files.ts';

const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;

/** A pack and the records that it must contain. */
export interface Pack {
  readonly file: ManifestFile;
  readonly columns: RecordColumns;
  /** The number of the first record, an index into the columns. */
  readonly first: number;
  /** How many consecutive records the pack contains. */
  readonly count: number;
}

/**
 * Checks the records of a pack one after another.
 * @param hashRecords whether to check the content hash of each record too; the SHA-256 of the file is
 * always checked
 */
export function checkPack(
  dir: string,
  { file, columns, first, count }: Pack,
  hashRecords: boolean,
): void {
  let number = first;
  // Where the record before ends.
  let end = 0;
  // Thrown only after the whole file was read, because `checkFile` may find a more general fault: that
  // the file is damaged.
  let fault: string | undefined;

  function isRight(bytes: Buffer, from: number, offset: number, next: number): boolean {
    const separator = number === first ? PACK_HEAD : RECORD_SEPARATOR;
    if (offset - end !== separator.length || !hasText(bytes, separator, end - from)) return false;
    const record = bytes.subarray(offset - from, next - from);
    if (record[0] !== OPENING_BRACE || record.at(-1) !== CLOSING_BRACE) return false;
    if (!hashRecords) return true;
    const [high, low] = hashBytes(record);
    return high === columns.hash[number * 2] && low === columns.hash[number * 2 + 1];
  }

  const rest = checkFile(dir, file, (bytes, from) => {
    for (; number < first + count && fault === undefined; number++) {
      const offset = columns.byteOffset[number];
      const next = offset + columns.byteLength[number];
      if (next - from > bytes.length) break;
      if (!isRight(bytes, from, offset, next)) {
        fault = `${file.path} does not have record ${number} at byte ${offset}.`;
      }
      end = next;
    }
    return fault === undefined ? end : from + bytes.length;
  });
  if (fault !== undefined) throw new Error(fault);
  const tail = count === 0 ? EMPTY_PACK : PACK_TAIL;
  if (number < first + count || rest.length !== tail.length || !hasText(rest, tail, 0)) {
    throw new Error(`${file.path} is not a list of exactly the records in the index.`);
  }
}

function hasText(bytes: Buffer, text: string, at: number): boolean {
  for (let i = 0; i < text.length; i++) if (bytes[at + i] !== text.charCodeAt(i)) return false;
  return true;
}
