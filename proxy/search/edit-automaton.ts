/**
 * The Levenshtein table as an automaton. Of a row of the table only the five entries around the
 * diagonal can count, each 0 to 3. So there are few rows that differ, and which row follows another
 * depends only on which of five letters of the pattern equal the letter that comes next. All are worked out once;
 * then a row of the table is one look-up.
 *
 * Rows count the edits between the beginnings of a word that is read and those of a pattern. Up to
 * the middle of the pattern one edit less is allowed than behind it.
 */

/** How far from the diagonal an entry can count: the largest distance. */
export const REACH = 2;
export const ENTRIES = 2 * REACH + 1;
/** How many sets of entries there are that may match. */
export const MATCHES = 1 << ENTRIES;
/** How many ways the middle can stand to the entries: before all, at one of them, behind all. */
export const PHASES = ENTRIES + 2;

/** The state of rows that lead nowhere. */
export const HOPELESS = 0;

export interface EditAutomaton {
  /** By {@link phaseOf} of row 0: the state before anything is read. */
  readonly start: readonly number[];
  /**
   * The state after the next letter, at `(state * 7 + phase) * 32 + matches`, the phase being that
   * of the row that follows. Bit i of `matches` says whether the letter is that of the pattern
   * which entry i of that row ends with.
   */
  readonly next: Uint8Array;
  /** At `state * 5 + entry`: the edits, above the distance when too many. */
  readonly edits: Uint8Array;
}

/** @param row how many letters were read, @param middle how many of the pattern come before it */
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

  /** Entries up to that of the middle belong to the half where fewer are allowed. */
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
      // What stands between the halves counts with the second.
      if (removed <= allowed(entry + 1, phase)) edits = Math.min(edits, removed);
      after.push(edits);
    }
    return after;
  }

  const next: number[] = [];
  // Rows are found on the way.
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
