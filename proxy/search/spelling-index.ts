/**
 * What near spellings are looked for in: the words sorted by their beginnings and by their ends, and
 * how much each shares with its neighbours. It is made while a generation is opened.
 */
import { type Postings, textAt, textCount } from '../../format/search-index.ts';

/** Words in the order of their code units, in memory that threads share. */
export interface SortedWords {
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
export function turnRound(word: string): string {
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
