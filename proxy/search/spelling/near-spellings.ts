/**
 * Finds near spellings: the words of the index within an edit distance of a wanted word. An edit is the
 * insertion, deletion or substitution of one letter, or the swap of two neighbouring ones. A letter is a
 * code point.
 *
 * Three things keep the search fast:
 * - The words are sorted, so neighbours share their beginnings. For each shared beginning, the rows of
 *   the Levenshtein table, which are steps of an automaton, are computed only once.
 * - If a beginning cannot lead to a match, all words that share it are skipped in one step. If no later
 *   letter can match in its place, the words with later letters are skipped too. So for a Latin word,
 *   all words in later scripts are skipped at once.
 * - If the wanted word has two edits, one of its halves has at most one of them; if it has one edit, one half has
 *   none. So two searches find everything: one from the front, which allows one edit fewer in the first
 *   half, and one from the back, which does the same in the second half. A single search that allows
 *   all edits everywhere would have to visit nearly every beginning.
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

/** Equals no letter. */
const NO_LETTER = -1;

/** @returns the numbers of the words within `distance` of the wanted word, ascending */
export function nearSpellings(
  { alphabet, forward, backward, numberOfBackward }: SpellingIndex,
  wanted: string,
  distance: 1 | 2,
): number[] {
  const letters = lettersOf(wanted, alphabet);
  const half = letters.length >>> 1;
  const found = new Set(search(forward, letters, distance, half));
  for (const number of search(backward, letters.toReversed(), distance, letters.length - half)) {
    found.add(numberOfBackward[number]);
  }
  return [...found].sort((a, b) => a - b);
}

/**
 * @param half up to this position in the wanted word, one edit fewer than `distance` is allowed
 * @returns the numbers of the words that were found, in the order of the list
 */
function search(
  { text, textStart, shared, nextShorter }: SortedWords,
  wanted: readonly number[],
  distance: 1 | 2,
  half: number,
): number[] {
  const found: number[] = [];
  const { start, next, edits } = AUTOMATA[distance];
  const longest = wanted.length + distance; // the greatest length of a word within the distance
  // The wanted letter for entry i of row r is at r + i. Before and after the wanted word: NO_LETTER.
  const letters = new Int32Array(longest + ENTRIES).fill(NO_LETTER);
  for (let i = 0; i < wanted.length; i++) letters[REACH + 1 + i] = wanted[i];
  const phases = Uint32Array.from({ length: longest + 1 }, (_, row) => phaseOf(row, half));
  const highestLetter = Int32Array.from(phases, (_, row) =>
    Math.max(...letters.subarray(row, row + ENTRIES)),
  );
  // For each row, the state after that many letters of the current word of the list.
  const states = new Uint16Array(longest + 1);
  states[0] = start[phases[0]];
  let valid = 0; // the states of rows 0 to `valid` are up to date
  const count = textStart.length - 1;
  for (let number = 0; number < count; ) {
    let hopelessLength = longest + 1; // words that share this many letters with this one cannot match
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
        // Words are sorted: after the highest letter that could match, no later letter can match here.
        hopelessLength = letter > highestLetter[row] ? row - 1 : row;
        break;
      }
      states[row] = state;
    }
    valid = row;
    if (row === length) {
      const entry = wanted.length - row + REACH; // the entry of the whole wanted word
      const isNear = entry < ENTRIES && edits[state * ENTRIES + entry] <= distance;
      if (isNear) found.push(number);
    }
    number++;
    while (number < count && shared[number] >= hopelessLength) number = nextShorter[number];
  }
  return found;
}
