/**
 * Near spellings: the words of the index within an edit distance of a word. An edit is the insertion,
 * deletion or substitution of one letter, a code point. MiniSearch counts UTF-16 code units instead.
 *
 * Three things keep the work small. The words are sorted, so neighbours share their beginnings: a row
 * of the Levenshtein table, a step of an automaton, is taken once for every shared beginning. What
 * begins hopelessly is passed over in one step, with all that comes behind it where none of that can
 * match: a Latin word is through with the words of other scripts at once. And of two edits at most
 * one falls into one of the halves of the word (of one edit, none): so a search from the front that
 * allows that few in the first half, and one from the back that allows as few in the second, find
 * everything between them, while a search that allows all edits at once would have to look at nearly
 * every beginning there is.
 */
import {
  ENTRIES,
  HOPELESS,
  MATCHES,
  makeEditAutomaton,
  PHASES,
  phaseOf,
  REACH,
} from './edit-automaton.ts';
import { lettersOf, type SortedWords, type SpellingIndex } from './spelling-index.ts';

const AUTOMATA = { 1: makeEditAutomaton(1), 2: makeEditAutomaton(2) };

/** Not a letter. */
const NO_LETTER = -1;

/** @returns the numbers of the words within `distance` of `word`, ascending */
export function nearSpellings(
  { forward, backward, numberOfBackward }: SpellingIndex,
  word: string,
  distance: 1 | 2,
): number[] {
  const letters = lettersOf(word);
  const half = letters.length >>> 1;
  const found = new Set(search(forward, letters, distance, half));
  for (const at of search(backward, letters.toReversed(), distance, letters.length - half)) {
    found.add(numberOfBackward[at]);
  }
  return [...found].sort((a, b) => a - b);
}

/**
 * @param half up to this position of `word` one edit less than `distance` is allowed
 * @returns numbers in the list
 */
function search(
  { text, textStart, shared, nextShorter }: SortedWords,
  word: readonly number[],
  distance: 1 | 2,
  half: number,
): number[] {
  const found: number[] = [];
  const { start, next, edits } = AUTOMATA[distance];
  const longest = word.length + distance; // of a word within the distance
  // What the entries of each row end with in `word`, NO_LETTER before and behind it.
  const letters = new Int32Array(longest + ENTRIES).fill(NO_LETTER);
  for (let i = 0; i < word.length; i++) letters[REACH + 1 + i] = word[i];
  const phases = Uint32Array.from({ length: longest + 1 }, (_, row) => phaseOf(row, half));
  const highestLetter = Int32Array.from(phases, (_, row) =>
    Math.max(...letters.subarray(row, row + ENTRIES)),
  );
  // By how many letters of the list's word were read.
  const states = new Uint8Array(longest + 1);
  states[0] = start[phases[0]];
  let valid = 0; // rows 0 to `valid` belong to the present word
  const count = textStart.length - 1;
  for (let number = 0; number < count; ) {
    let dead = longest + 1; // the row whose beginning leads nowhere
    const first = textStart[number];
    const length = textStart[number + 1] - first;
    const last = Math.min(length, longest);
    let row = Math.min(shared[number], valid);
    let state = states[row];
    while (row < last) {
      const letter = text[first + row];
      row++;
      const matches =
        (letters[row] === letter ? 1 : 0) |
        (letters[row + 1] === letter ? 2 : 0) |
        (letters[row + 2] === letter ? 4 : 0) |
        (letters[row + 3] === letter ? 8 : 0) |
        (letters[row + 4] === letter ? 16 : 0);
      state = next[(state * PHASES + phases[row]) * MATCHES + matches];
      if (state === HOPELESS) {
        // Letters ascend: after the highest that could match, all further words are hopeless too.
        dead = letter > highestLetter[row] ? row - 1 : row;
        break;
      }
      states[row] = state;
    }
    valid = row;
    if (row === length) {
      const entry = word.length - row + REACH; // that of the whole word
      const isNear = entry < ENTRIES && edits[state * ENTRIES + entry] <= distance;
      if (isNear) found.push(number);
    }
    number++;
    // All that begin as this one does up to that row are passed over.
    while (number < count && shared[number] >= dead) number = nextShorter[number];
  }
  return found;
}
