/** The texts of rows in large chunks of memory outside the heap. No text spans two chunks. */
import { type Column, makeColumn, numbersOf } from '../../lib/columns/columns.ts';

const CHUNK_BYTES = 4 * 1024 * 1024;
/** A position is the index of a chunk times this, plus the position in the chunk. */
const POSITIONS_PER_CHUNK = 2 ** 32;

export class RowTexts<Row extends number> {
  /** The length of each text in bytes. */
  readonly length: Column<Row, number>;
  private readonly positions: Float64Array;
  private readonly chunks: Buffer[] = [];
  private end = CHUNK_BYTES;

  /** @param rows how many there will be at most */
  constructor(rows: number) {
    this.length = makeColumn(rows);
    this.positions = new Float64Array(rows);
  }

  add(row: Row, text: string): void {
    // UTF-8 takes at most three bytes per code unit.
    const most = text.length * 3;
    let chunk = this.chunks.at(-1);
    if (chunk === undefined || this.end + most > chunk.length) {
      chunk = Buffer.allocUnsafeSlow(Math.max(most, CHUNK_BYTES));
      this.chunks.push(chunk);
      this.end = 0;
    }
    this.positions[row] = (this.chunks.length - 1) * POSITIONS_PER_CHUNK + this.end;
    numbersOf(this.length)[row] = chunk.write(text, this.end);
    this.end += this.length[row];
  }

  /** The chunk with the text of a row, which begins at {@link startOf}. */
  chunkOf(row: Row): Buffer {
    return this.chunks[Math.floor(this.positions[row] / POSITIONS_PER_CHUNK)];
  }

  startOf(row: Row): number {
    return this.positions[row] % POSITIONS_PER_CHUNK;
  }

  /** The value of a text that is a list of values, each ended by a zero byte. @param index of the value */
  valueAt(row: Row, index: number): string {
    const chunk = this.chunkOf(row);
    let start = this.startOf(row);
    // Values are short: `indexOf` would take longer.
    for (let left = index; left > 0; start++) if (chunk[start] === 0) left--;
    let end = start;
    while (chunk[end] !== 0) end++;
    return chunk.toString('utf8', start, end);
  }
}
