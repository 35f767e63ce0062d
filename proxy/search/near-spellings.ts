/**
 * Near spellings: the words of the index within an edit distance of a word.
 *
 * The words are sorted, so neighbours share their beginnings: a row of the Levenshtein table is
 * computed once for every shared beginning, and where a row has no value within the distance, all
 * words that begin so are passed over. Counts edits as MiniSearch does: insertion, deletion and
 * substitution of UTF-16 code units.
 */
import type { Postings } from '../../format/search-index.ts';

/** What makes passing over words quick; in shared memory, as the opening thread makes it. */
export interface SharedBeginnings {
  /** How many code units each text shares with the one before it, at most 255. */
  readonly length: Uint8Array;
  /** The next place whose text shares less than this one's does, or the end. */
  readonly nextShorter: Uint32Array;
}

export function findSharedBeginnings({ text, textStart }: Postings): SharedBeginnings {
  const count = textStart.length - 1;
  const length = new Uint8Array(new SharedArrayBuffer(count));
  for (let place = 1; place < count; place++) {
    const before = textStart[place - 1] as number;
    const start = textStart[place] as number;
    const most = Math.min(start - before, (textStart[place + 1] as number) - start, 255);
    let shared = 0;
    while (shared < most && text[before + shared] === text[start + shared]) shared++;
    length[place] = shared;
  }
  const nextShorter = new Uint32Array(new SharedArrayBuffer(count * 4));
  for (let place = count - 1; place >= 0; place--) {
    let next = place + 1;
    while (next < count && (length[next] as number) >= (length[place] as number)) {
      next = nextShorter[next] as number;
    }
    nextShorter[place] = next;
  }
  return { length, nextShorter };
}

/**
 * @param shared of {@link findSharedBeginnings} for the same list
 * @param distance at least 1
 * @returns the places of the words within `distance` of `word`, ascending
 */
export function nearSpellings(
  { text, textStart }: Postings,
  shared: SharedBeginnings,
  word: string,
  distance: number,
): number[] {
  const found: number[] = [];
  const width = word.length + 1;
  const codes = Uint16Array.from({ length: word.length }, (_, i) => word.charCodeAt(i));
  const longest = word.length + distance; // of a word within the distance
  // Row d holds the distances of the first d code units of the index's word to each beginning of
  // `word`; only entries within `distance` of the diagonal can count, the others stay "far".
  const far = distance + 1;
  const rows = new Uint8Array((longest + 1) * width).fill(far);
  for (let column = 0; column < width; column++) rows[column] = Math.min(column, far);
  let valid = 0; // rows 0 to `valid` belong to the present word
  const count = textStart.length - 1;
  for (let place = 0; place < count; ) {
    let dead = longest + 1; // the row at which the present beginning became hopeless
    const common = shared.length[place] as number;
    const start = textStart[place] as number;
    const length = (textStart[place + 1] as number) - start;
    const last = Math.min(length, longest);
    let row = Math.min(common, valid);
    while (row < last) {
      row++;
      const here = row * width;
      const above = here - width;
      const from = Math.max(1, row - distance);
      const to = Math.min(width - 1, row + distance);
      let least = far;
      rows[here + from - 1] = from === 1 ? Math.min(row, far) : far;
      if (from === 1) least = rows[here] as number;
      const code = text[start + row - 1];
      for (let column = from; column <= to; column++) {
        const changed = (rows[above + column - 1] as number) + (codes[column - 1] === code ? 0 : 1);
        const removed = (rows[above + column] as number) + 1;
        const added = (rows[here + column - 1] as number) + 1;
        const edits = Math.min(changed, removed, added, far);
        rows[here + column] = edits;
        if (edits < least) least = edits;
      }
      if (to < width - 1) rows[here + to + 1] = far;
      if (least > distance) {
        dead = row;
        break;
      }
    }
    valid = row;
    if (dead > longest && row === length && (rows[row * width + width - 1] as number) <= distance) {
      found.push(place);
    }
    place++;
    // All that begin as this one does up to the hopeless row are passed over.
    while (place < count && (shared.length[place] as number) >= dead) {
      place = shared.nextShorter[place] as number;
    }
  }
  return found;
}
