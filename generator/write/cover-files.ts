/**
 * Copies the JSON of the files of covers into their records: from the spill file, to which it was written
 * while the files were read, or from the records of an earlier generation.
 */
import { putBytes } from '../columns/json-bytes.ts';
import { readTagged, type SpillContent, type TaggedPieces } from '../columns/spill-file.ts';
import { COVERS_PER_BUCKET } from '../read/read-files.ts';

const COMMA = 0x2c;

/** Copies the JSON of the files of one cover after another. */
export interface FileCopier {
  /** Selects the files of a cover. @returns the most bytes that {@link copy} will write */
  seek(cover: number): number;
  /** Writes the files with commas between them. @returns the position after them */
  copy(target: Buffer, at: number): number;
}

/** @param earlierFiles the files of a cover in its earlier record, or undefined if they are in the spill file */
export function makeFileCopier(
  spill: SpillContent,
  covers: number,
  earlierFiles: (cover: number) => Buffer | undefined = () => undefined,
): FileCopier {
  let loadedBucket = -1;
  let earlier: Buffer | undefined;
  let pieces: TaggedPieces | undefined;
  let from = 0;
  let to = 0;
  return {
    seek(cover) {
      earlier = earlierFiles(cover);
      if (earlier !== undefined) return earlier.length;
      const bucket = Math.floor(cover / COVERS_PER_BUCKET);
      const firstCover = bucket * COVERS_PER_BUCKET;
      if (bucket !== loadedBucket || pieces === undefined) {
        const count = Math.min(COVERS_PER_BUCKET, covers - firstCover);
        pieces = readTagged(spill, bucket, firstCover, count);
        loadedBucket = bucket;
      }
      const { first, length } = pieces;
      from = first[cover - firstCover];
      to = first[cover - firstCover + 1];
      let most = 0;
      for (let piece = from; piece < to; piece++) most += length[piece] + 1;
      return most;
    },
    copy(target, at) {
      if (earlier !== undefined) return putBytes(target, at, earlier);
      if (pieces === undefined) return at;
      const { bytes, start, length } = pieces;
      let end = at;
      for (let piece = from; piece < to; piece++) {
        if (piece > from) target[end++] = COMMA;
        const begin = start[piece];
        end += bytes.copy(target, end, begin, begin + length[piece]);
      }
      return end;
    },
  };
}
