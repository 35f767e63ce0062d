/**
 * Bounds the work for the name of a file. It is counted, never timed, so that every machine gives the same
 * answer. A name that has spent its budget gets what was found by then, without what takes long to
 * be sure of. Of 3,586 names that people have, none needs more than 260 on eight large platforms.
 */

/** About as many titles may be compared with a name. */
const MOST_COMPARISONS = 300;

/** What takes less time than to compare a title, as parts of a comparison. */
export const COST = {
  /** To read a letter of a name, and the tags that it may belong to. */
  letter: 1 / 16,
  /** To make a letter of a form. */
  formLetter: 1 / 32,
  /** To look up a form among the games of a platform. */
  lookUp: 1 / 32,
  /** A game that is found there. */
  entry: 1 / 128,
  /** To compare the letters of two forms, without their order. */
  letters: 1 / 4096,
} as const;

/** About as many are made without a pause: they take a millisecond. */
const COMPARISONS_PER_STEP = 60;

export class Budget {
  private left = MOST_COMPARISONS;
  private pausedAt = MOST_COMPARISONS;

  /** @returns whether something is left; otherwise the result of what was counted must not be used */
  spend(comparisons: number): boolean {
    this.left -= comparisons;
    return this.left > 0;
  }

  /** Whether this is the time for others to be served. */
  takePause(): boolean {
    if (this.pausedAt - this.left < COMPARISONS_PER_STEP) return false;
    this.pausedAt = this.left;
    return true;
  }

  get isSpent(): boolean {
    return this.left <= 0;
  }
}
