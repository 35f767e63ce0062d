/** Texts in large blocks of memory that threads share. No text spans two blocks. */
import { sharedZeros } from '../../lib/format/index/arrays.ts';
import { type Column, columnOf } from './columns.ts';

type Texts = readonly SharedArrayBuffer[];

/** For each row, where its text is in `texts`, and the length in bytes. */
export interface RowTexts<Row extends number> {
  readonly texts: Texts;
  readonly position: Column<Row, number>;
  readonly length: Column<Row, number>;
}

const BLOCK_BYTES = 4 * 1024 * 1024;
/** A position is the index of a block times this, plus the position in the block. */
const POSITIONS_PER_BLOCK = 2 ** 32;

/** @param rows how many there will be at most @returns the texts, and a function that adds that of a row */
export function makeTexts<Row extends number>(rows: number) {
  const texts: SharedArrayBuffer[] = [];
  const position = sharedZeros(Float64Array, rows);
  const length = sharedZeros(Uint32Array, rows);
  let buffer: Buffer = Buffer.alloc(0);
  let end = 0;
  return {
    texts: {
      texts,
      position: columnOf<Row, number>(position),
      length: columnOf<Row, number>(length),
    },
    add(row: Row, text: string): void {
      // UTF-8 takes at most three bytes per code unit.
      const most = text.length * 3;
      if (end + most > buffer.length) {
        const block = new SharedArrayBuffer(Math.max(most, BLOCK_BYTES));
        texts.push(block);
        buffer = Buffer.from(block);
        end = 0;
      }
      position[row] = (texts.length - 1) * POSITIONS_PER_BLOCK + end;
      length[row] = buffer.write(text, end);
      end += length[row];
    },
  };
}

/** @returns functions that return the block with a position, and the index in it */
export function openTexts(texts: Texts) {
  const buffers = texts.map((block) => Buffer.from(block));
  return {
    blockOf: (position: number) => buffers[Math.floor(position / POSITIONS_PER_BLOCK)],
    indexOf: (position: number) => position % POSITIONS_PER_BLOCK,
  };
}
