/**
 * Memory for the sets of one query, which the next query uses again. With a million games a bitset takes
 * 134 KB; when every query took new memory, V8 paused for 7 to 17 ms after every thirty of them to collect
 * garbage. A set that outlives its query must be copied.
 */

/** Further bitsets of a query get memory of their own. With a million games, these take 4 MB. */
const MOST_REUSED = 32;

export class QueryMemory {
  private readonly bitsets: Uint32Array[] = [];
  private used = 0;
  private list = new Uint32Array(0);

  /** Makes the memory of all bitsets of the last query available again. */
  startQuery(): void {
    this.used = 0;
  }

  /** A bitset with any content. @param length in blocks of 32 bits */
  takeBits(length: number): Uint32Array {
    if (this.used === MOST_REUSED) return new Uint32Array(length);
    const at = this.used++;
    let bits = this.bitsets[at];
    // A catalogue without games has sets of length 0.
    if (bits === undefined || bits.length < length) {
      bits = new Uint32Array(length);
      this.bitsets[at] = bits;
    }
    return bits.subarray(0, length);
  }

  /**
   * A list with at least this length and any content, valid until the next call. Results are written here
   * and then copied, since they are often much shorter than the sets that they come from. Without it, eight
   * common words took half a megabyte of new memory.
   */
  scratchList(length: number): Uint32Array {
    if (this.list.length < length) this.list = new Uint32Array(length);
    return this.list;
  }
}
