/**
 * Reads columns of an index file without the others in memory, and checks the file against the manifest.
 */
import {
  bytesOf,
  type Column,
  type Columns,
  type DirectoryEntry,
  MOST_HEAD_BYTES,
  readDirectory,
  viewColumn,
} from '../../format/index/columns.ts';
import type { ManifestFile } from '../../format/manifest.ts';
import { checkFile } from './checked-files.ts';

/** Memory that was never written takes none, so bytes that are zero are not written to it. */
const ZEROS = Buffer.alloc(64 * 1024);

/**
 * @param Memory `SharedArrayBuffer` if other threads read the columns, too
 * @param names the columns to read; by default all
 * @returns the columns, each in memory of its own
 * @throws Error if the file is damaged
 */
export function readColumns(
  dir: string,
  file: ManifestFile,
  Memory: new (bytes: number) => ArrayBufferLike,
  names?: readonly string[],
): Columns {
  const columns: Record<string, Column> = {};
  let targets: { readonly start: number; readonly bytes: Buffer }[] | undefined;

  function makeColumn(name: string, entry: DirectoryEntry) {
    const memory = new Memory(bytesOf(entry));
    columns[name] = viewColumn(entry, memory);
    return { start: entry.start, bytes: Buffer.from(memory) };
  }

  checkFile(dir, file, (piece, from) => {
    if (targets === undefined) {
      // The next piece begins with the same bytes, and has more.
      if (piece.length < Math.min(file.size, MOST_HEAD_BYTES)) return from;
      const directory = readDirectory(piece, file.size, file.path);
      targets = [...directory]
        .filter(([name]) => names === undefined || names.includes(name))
        .map(([name, entry]) => makeColumn(name, entry));
    }
    for (const { start, bytes } of targets) copyPart(piece, from, bytes, start);
    return from + piece.length;
  });
  return columns;
}

/**
 * Copies the bytes of a column that are in a piece of the file.
 * @param from the position of the piece in the file
 * @param start the position of the column in the file
 */
function copyPart(piece: Buffer, from: number, target: Buffer, start: number): void {
  const end = Math.min(from + piece.length, start + target.length);
  for (let at = Math.max(from, start); at < end; at += ZEROS.length) {
    const part = piece.subarray(at - from, Math.min(at + ZEROS.length, end) - from);
    if (!part.equals(ZEROS.subarray(0, part.length))) part.copy(target, at - start);
  }
}
