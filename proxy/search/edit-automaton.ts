/**
 * The Levenshtein table as an automaton. In a row of the table, only the five entries around the
 * diagonal matter, and each is 0 to 3. So there are few different rows; each is a state. The next row
 * depends only on which of five letters of the pattern equal the next letter of the word. All rows and
 * transitions are computed once. After that, each row of a table takes one look-up.
 *
 * An entry counts the edits between a beginning of the word and a beginning of the pattern. Up to the
 * middle of the pattern, one edit fewer is allowed than after it.
 */

/** How far from the diagonal an entry can matter: the largest edit distance. */
export const REACH = 2;
export const ENTRIES = 2 * REACH + 1;
/** How many combinations of matching entries there are. */
export const MATCHES = 1 << ENTRIES;
/**
 * How many phases there are. The phase of a row says where the middle of the pattern is: before all
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
   * letter of the pattern's beginning that entry i stands for.
   */
  readonly next: Uint8Array;
  /** At `state * ENTRIES + entry`: how many edits the entry has; above the distance if too many. */
  readonly edits: Uint8Array;
}

/**
 * The phase of a row.
 * @param row how many letters of the word were read
 * @param middle how many letters of the pattern come before its middle
 */
export function phaseOf(row: number, middle: number): number {
  return Math.max(0, Math.min(middle - row + REACH + 1, PHASES - 1));
}

export function makeEditAutomaton(distance: number): EditAutomaton {
  const far = distance + 1;
  const rows: number[][] = [];
  const known = new Map<number, number>();
  const stateOf = (row: number[]): number => {
    const key = row.reduce((all, edits) => all * (REACH + 2) + edits, 0);
    let state = known.get(key);
    if (state === undefined) {
      state = rows.length;
      known.set(key, state);
      rows.push(row);
    }
    return state;
  };
  stateOf(new Array(ENTRIES).fill(far)); // HOPELESS
  const start = Array.from({ length: PHASES }, (_, phase) =>
    stateOf(
      Array.from({ length: ENTRIES }, (_, entry) => {
        const edits = entry - REACH;
        return edits < 0 || edits > allowed(entry, phase) ? far : edits;
      }),
    ),
  );

  /** How many edits an entry may have. Entries up to the middle belong to the half that allows fewer. */
  function allowed(entry: number, phase: number): number {
    return entry < phase ? distance - 1 : distance;
  }

  function following(row: readonly number[], phase: number, matches: number): number[] {
    const after: number[] = [];
    for (let entry = 0; entry < ENTRIES; entry++) {
      const changed = row[entry] + 1 - ((matches >> entry) & 1);
      const added = (after[entry - 1] ?? far) + 1;
      const removed = (row[entry + 1] ?? far) + 1;
      let edits = Math.min(changed, added);
      if (edits > allowed(entry, phase)) edits = far;
      // A letter that the word has exactly between the halves counts as an edit of the second half.
      if (removed <= allowed(entry + 1, phase)) edits = Math.min(edits, removed);
      after.push(edits);
    }
    return after;
  }

  const next: number[] = [];
  // The list of rows grows during this loop: `stateOf` adds each new row.
  for (let state = 0; state < rows.length; state++) {
    const row = rows[state] as number[];
    for (let phase = 0; phase < PHASES; phase++) {
      for (let matches = 0; matches < MATCHES; matches++) {
        next.push(stateOf(following(row, phase, matches)));
      }
    }
  }
  return { start, next: Uint8Array.from(next), edits: Uint8Array.from(rows.flat()) };
}
