/**
 * Near spellings: the words of the index within an edit distance of a word.
 *
 * The words are sorted, so neighbours share their beginnings: a row of the Levenshtein table is
 * computed once for every shared beginning, and where a row has no value within the distance, all
 * words that begin so are passed over. Counts edits as MiniSearch does: insertion, deletion and
 * substitution of UTF-16 code units.
 */
import type { Postings } from '../../format/search-index.ts';

/** How many code units each text shares with the one before it, at most 255. */
export function sharedBeginnings({ text, textStart }: Postings): Uint8Array {
  const shared = new Uint8Array(new SharedArrayBuffer(textStart.length - 1));
  for (let place = 1; place < shared.length; place++) {
    const before = textStart[place - 1] as number;
    const start = textStart[place] as number;
    const most = Math.min(start - before, (textStart[place + 1] as number) - start, 255);
    let length = 0;
    while (length < most && text[before + length] === text[start + length]) length++;
    shared[place] = length;
  }
  return shared;
}

/**
 * @param shared of {@link sharedBeginnings} for the same list
 * @param distance at least 1
 * @returns the places of the words within `distance` of `word`, ascending
 */
export function nearSpellings(
  { text, textStart }: Postings,
  shared: Uint8Array,
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
  let dead = longest + 1; // the row at which the present beginning became hopeless
  for (let place = 0; place < shared.length; place++) {
    const common = shared[place] as number;
    if (common >= dead) continue;
    dead = longest + 1;
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
  }
  return found;
}
