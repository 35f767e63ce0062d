/**
 * The Levenshtein table of the wanted word (the columns) and a word of the index (the rows) as an
 * automaton. In a row of the table, only the five entries around the diagonal matter, and each is 0 to 3.
 * So there are few different rows; each is a state. The next row depends only on which of five letters of
 * the wanted word equal the next letter of the word. All rows and transitions are computed once. After
 * that, each row of a table takes one look-up.
 *
 * Two swapped letters count as one edit. So a state also has, for each entry, how many edits the next row
 * would have there if the last letter and the next one were swapped.
 *
 * An entry counts the edits between a beginning of the word and a beginning of the wanted word. Up to the
 * middle of the wanted word, one edit fewer is allowed than after it.
 */

/** How far from the diagonal an entry can matter: the largest edit distance. */
export const REACH = 2;
export const ENTRIES = 2 * REACH + 1;
/** How many combinations of matching entries there are. */
export const MATCHES = 1 << ENTRIES;
/**
 * How many phases there are. The phase of a row says where the middle of the wanted word is: before all
 * entries of the row, at one of them, or after all.
 */
export const PHASES = ENTRIES + 2;

/** The state of a row from which no match can be reached. */
export const HOPELESS = 0;

export interface EditAutomaton {
  /** For each phase of row 0, the state before any letter is read. */
  readonly start: readonly number[];
  /**
   * The state after the next letter, at `(state * PHASES + phase) * MATCHES + matches`. Both `phase` and
   * `matches` are those of the next row. Bit i of `matches` says whether the letter equals the last
   * letter of the beginning of the wanted word that entry i stands for.
   */
  readonly next: Uint16Array;
  /** At `state * ENTRIES + entry`: how many edits the entry has; above the distance if too many. */
  readonly edits: Uint8Array;
}

interface Row {
  readonly edits: readonly number[];
  /** The edits that each entry of the next row has if its letter is swapped with the one before it. */
  readonly swapped: readonly number[];
}

/**
 * The phase of a row.
 * @param row how many letters of the word were read
 * @param middle how many letters of the wanted word come before its middle
 */
export function phaseOf(row: number, middle: number): number {
  return Math.max(0, Math.min(middle - row + REACH + 1, PHASES - 1));
}

export function makeEditAutomaton(distance: number): EditAutomaton {
  const far = distance + 1;
  const none: readonly number[] = new Array(ENTRIES).fill(far);
  const rows: Row[] = [];
  const known = new Map<number, number>();
  const stateOf = (row: Row): number => {
    const key = numberOf(row.swapped, numberOf(row.edits));
    const state = known.get(key) ?? rows.length;
    if (state === rows.length) {
      known.set(key, state);
      rows.push(row);
    }
    return state;
  };
  stateOf({ edits: none, swapped: none }); // HOPELESS
  const start = Array.from({ length: PHASES }, (_, phase) => {
    const edits = none.map((_, entry) => {
      const removed = entry - REACH;
      return removed < 0 || removed > allowed(entry, phase, distance) ? far : removed;
    });
    return stateOf({ edits, swapped: none });
  });
  const next: number[] = [];
  // The list of rows grows during this loop: `stateOf` adds each new row.
  for (let state = 0; state < rows.length; state++) {
    for (let phase = 0; phase < PHASES; phase++) {
      for (let matches = 0; matches < MATCHES; matches++) {
        next.push(stateOf(rowAfter(rows[state], phase, matches, distance)));
      }
    }
  }
  return {
    start,
    next: Uint16Array.from(next),
    edits: Uint8Array.from(rows.flatMap(({ edits }) => edits)),
  };
}

/**
 * Appends entries, each 0 to 3, to a number. As keys, numbers instead of texts save half of the 0.1 s of
 * processor time that the automata take at startup.
 */
function numberOf(entries: readonly number[], before = 0): number {
  return entries.reduce((number, entry) => number * 4 + entry, before);
}

/** How many edits an entry may have. Entries up to the middle belong to the half that allows fewer. */
function allowed(entry: number, phase: number, distance: number): number {
  return entry < phase ? distance - 1 : distance;
}

/** The row after the next letter. `phase` and `matches` are those of that row. */
function rowAfter({ edits, swapped }: Row, phase: number, matches: number, distance: number): Row {
  const far = distance + 1;
  const isMatch = (entry: number) => ((matches >> entry) & 1) === 1;
  const after: number[] = [];
  const swappedAfter: number[] = [];
  for (let entry = 0; entry < ENTRIES; entry++) {
    const changed = edits[entry] + (isMatch(entry) ? 0 : 1);
    const added = (after[entry - 1] ?? far) + 1;
    const removed = (edits[entry + 1] ?? far) + 1;
    // That the last letter of the word equals the wanted letter after this one was checked when
    // `swapped` was made; here, the letter equals the one before.
    const swap = isMatch(entry - 1) ? swapped[entry] : far;
    let fewest = Math.min(changed, added, swap);
    if (fewest > allowed(entry, phase, distance)) fewest = far;
    // A letter that the word has exactly between the halves counts as an edit of the second half.
    if (removed <= allowed(entry + 1, phase, distance)) fewest = Math.min(fewest, removed);
    after.push(fewest);
    // Entry e of the next row ends one letter later in the wanted word than entry e of this one.
    swappedAfter.push(isMatch(entry + 1) ? Math.min(edits[entry] + 1, far) : far);
  }
  return { edits: after, swapped: swappedAfter };
}
