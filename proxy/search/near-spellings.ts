/**
 * Near spellings: the words of the index within an edit distance of a word. Counts edits as
 * MiniSearch does: insertion, deletion and substitution of UTF-16 code units.
 *
 * Two things keep the work small. The words are sorted, so neighbours share their beginnings: a row
 * of the Levenshtein table is computed once for every shared beginning, and all words that begin
 * hopelessly are passed over in one step. And of two edits at most one falls into one of the halves
 * of the word (of one edit, none): so a search from the front that allows that few in the first half,
 * and one from the back that allows as few in the second, find everything between them, while a
 * search that allows all edits at once would have to look at nearly every beginning there is.
 */
import { type Postings, textAt, textCount } from '../../format/search-index.ts';

/** Words in the order of their code units, in memory that threads share. */
interface SortedWords {
  readonly text: Uint16Array;
  readonly textStart: Uint32Array;
  /** How many code units each shares with the one before it, at most 255. */
  readonly shared: Uint8Array;
  /** The next place whose word shares less than this one's does, or the end. */
  readonly nextShorter: Uint32Array;
}

export interface SpellingIndex {
  readonly forward: SortedWords;
  /** Every word turned round. */
  readonly backward: SortedWords;
  /** By place in `backward`: the word's place in the index. */
  readonly placeOfBackward: Uint32Array;
}

export function makeSpellingIndex(words: Postings): SpellingIndex {
  const count = textCount(words);
  const turned = Array.from({ length: count }, (_, place) => turnRound(textAt(words, place)));
  const order = Uint32Array.from(turned.keys()).sort((a, b) => {
    const left = turned[a] as string;
    const right = turned[b] as string;
    return left < right ? -1 : left > right ? 1 : 0;
  });
  const text = new Uint16Array(new SharedArrayBuffer(words.text.byteLength));
  const textStart = new Uint32Array(new SharedArrayBuffer((count + 1) * 4));
  const placeOfBackward = new Uint32Array(new SharedArrayBuffer(count * 4));
  placeOfBackward.set(order);
  let end = 0;
  order.forEach((place, at) => {
    textStart[at] = end;
    const word = turned[place] as string;
    for (let i = 0; i < word.length; i++) text[end++] = word.charCodeAt(i);
  });
  textStart[count] = end;
  return {
    forward: findShared(words.text, words.textStart),
    backward: findShared(text, textStart),
    placeOfBackward,
  };
}

/** Code unit by code unit, as edits are counted. */
function turnRound(word: string): string {
  let turned = '';
  for (let i = word.length - 1; i >= 0; i--) turned += word[i];
  return turned;
}

function findShared(text: Uint16Array, textStart: Uint32Array): SortedWords {
  const count = textStart.length - 1;
  const shared = new Uint8Array(new SharedArrayBuffer(count));
  for (let place = 1; place < count; place++) {
    const before = textStart[place - 1] as number;
    const start = textStart[place] as number;
    const most = Math.min(start - before, (textStart[place + 1] as number) - start, 255);
    let length = 0;
    while (length < most && text[before + length] === text[start + length]) length++;
    shared[place] = length;
  }
  const nextShorter = new Uint32Array(new SharedArrayBuffer(count * 4));
  for (let place = count - 1; place >= 0; place--) {
    let next = place + 1;
    while (next < count && (shared[next] as number) >= (shared[place] as number)) {
      next = nextShorter[next] as number;
    }
    nextShorter[place] = next;
  }
  return { text, textStart, shared, nextShorter };
}

/**
 * @param distance 1 or 2
 * @returns the places of the words within `distance` of `word`, ascending
 */
export function nearSpellings(
  { forward, backward, placeOfBackward }: SpellingIndex,
  word: string,
  distance: number,
): number[] {
  const half = word.length >>> 1;
  const found = new Set(search(forward, word, distance, half));
  for (const at of search(backward, turnRound(word), distance, word.length - half)) {
    found.add(placeOfBackward[at] as number);
  }
  return [...found].sort((a, b) => a - b);
}

/**
 * @param half up to this place of `word` one edit less than `distance` is allowed
 * @returns places in the list
 */
function search(
  { text, textStart, shared, nextShorter }: SortedWords,
  word: string,
  distance: number,
  half: number,
): number[] {
  const found: number[] = [];
  const width = word.length + 1;
  const codes = Uint16Array.from({ length: word.length }, (_, i) => word.charCodeAt(i));
  const longest = word.length + distance; // of a word within the distance
  // Row d holds the distances of the first d code units of the list's word to each beginning of
  // `word`; only entries within `distance` of the diagonal can count, the others stay "far".
  const far = distance + 1;
  const rows = new Uint8Array((longest + 1) * width).fill(far);
  for (let column = 0; column < width; column++) {
    rows[column] = column <= (column <= half ? distance - 1 : distance) ? column : far;
  }
  let valid = 0; // rows 0 to `valid` belong to the present word
  const count = textStart.length - 1;
  for (let place = 0; place < count; ) {
    let dead = longest + 1; // the row at which the present beginning became hopeless
    const common = shared[place] as number;
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
      rows[here + from - 1] = from === 1 && row <= (half > 0 ? distance - 1 : distance) ? row : far;
      if (from === 1) least = rows[here] as number;
      const code = text[start + row - 1];
      for (let column = from; column <= to; column++) {
        const changed = (rows[above + column - 1] as number) + (codes[column - 1] === code ? 0 : 1);
        const removed = (rows[above + column] as number) + 1;
        const added = (rows[here + column - 1] as number) + 1;
        let edits = Math.min(changed, added);
        if (column <= half && edits >= distance) edits = far;
        // What stands between the halves counts with the second.
        if (removed < edits && (column >= half || removed < distance)) edits = removed;
        if (edits > far) edits = far;
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
    while (place < count && (shared[place] as number) >= dead) place = nextShorter[place] as number;
  }
  return found;
}
