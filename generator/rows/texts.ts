/** The texts of rows in large blocks of memory outside the heap. No text spans two blocks. */
import { type Column, columnOf } from './columns.ts';

const BLOCK_BYTES = 4 * 1024 * 1024;
/** A position is the index of a block times this, plus the position in the block. */
const POSITIONS_PER_BLOCK = 2 ** 32;

export class RowTexts<Row extends number> {
  /** The length of each text in bytes. */
  readonly length: Column<Row, number>;
  private readonly lengths: Uint32Array;
  private readonly positions: Float64Array;
  private readonly blocks: Buffer[] = [];
  private end = BLOCK_BYTES;

  /** @param rows how many there will be at most */
  constructor(rows: number) {
    this.lengths = new Uint32Array(rows);
    this.length = columnOf(this.lengths);
    this.positions = new Float64Array(rows);
  }

  add(row: Row, text: string): void {
    // UTF-8 takes at most three bytes per code unit.
    const most = text.length * 3;
    let block = this.blocks.at(-1);
    if (block === undefined || this.end + most > block.length) {
      block = Buffer.allocUnsafeSlow(Math.max(most, BLOCK_BYTES));
      this.blocks.push(block);
      this.end = 0;
    }
    this.positions[row] = (this.blocks.length - 1) * POSITIONS_PER_BLOCK + this.end;
    this.lengths[row] = block.write(text, this.end);
    this.end += this.lengths[row];
  }

  /** The block with the text of a row, and the position of the text in it. */
  blockOf(row: Row): Buffer {
    return this.blocks[Math.floor(this.positions[row] / POSITIONS_PER_BLOCK)];
  }

  startOf(row: Row): number {
    return this.positions[row] % POSITIONS_PER_BLOCK;
  }

  /** The value of a text that is a list of values, each ended by a zero byte. @param index of the value */
  valueAt(row: Row, index: number): string {
    const block = this.blockOf(row);
    let start = this.startOf(row);
    // Values are short: `indexOf` would take longer.
    for (let left = index; left > 0; start++) if (block[start] === 0) left--;
    let end = start;
    while (block[end] !== 0) end++;
    return block.toString('utf8', start, end);
  }
}
