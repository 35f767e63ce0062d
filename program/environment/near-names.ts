/**
 * Finds misspelled names of our variables. `.env` belongs to this project, so a misspelled name in it
 * is an error. The environment also holds variables of other programs, so a name in it that differs
 * by one letter only causes a warning.
 */

/** Shorter names are ignored: they resemble too many others. */
const SHORTEST_IN_ENVIRONMENT = 6;
/** In shorter names, only one letter may be wrong. */
const SHORTEST_FOR_TWO_EDITS = 8;
/** "A, B or C" */
const ANY_OF = new Intl.ListFormat('en-GB', { type: 'disjunction' });

/**
 * Reports the misspelled names, one sentence for each.
 * @param known the names of our variables
 */
export function checkNames(
  known: readonly string[],
  inFile: readonly string[],
  inEnvironment: readonly string[],
): { readonly faults: string[]; readonly warnings: string[] } {
  const faults: string[] = [];
  const warnings: string[] = [];
  for (const name of inFile.filter((one) => !known.includes(one))) {
    const meant = misspelled(name, known);
    const sentence = `${name} in .env is not a variable of this program`;
    if (meant.length > 0) {
      faults.push(
        `${sentence}. Did you mean ${ANY_OF.format(meant)}? Rename it, or remove it if it is for another program.`,
      );
      continue;
    }
    const related = known.filter((one) => firstWord(one) === firstWord(name));
    if (related.length > 0) {
      warnings.push(`${sentence} and has no effect. Known: ${related.join(', ')}.`);
    }
  }
  for (const name of inEnvironment.filter((one) => !known.includes(one))) {
    if (name.length < SHORTEST_IN_ENVIRONMENT) continue;
    const meant = closest(name, known, 1);
    // If our variable is set as well, the similar name is not a misspelling of it.
    if (meant.length === 0 || meant.some((one) => inEnvironment.includes(one))) continue;
    warnings.push(
      `${name} in the environment is not a variable of this program. Did you mean ${ANY_OF.format(meant)}?`,
    );
  }
  return { faults, warnings };
}

/** The known names that resemble a name. If none does, the known names that contain all its words. */
function misspelled(name: string, known: readonly string[]): string[] {
  const close = closest(name, known, name.length < SHORTEST_FOR_TWO_EDITS ? 1 : 2);
  if (close.length > 0) return close;
  const words = wordsOf(name);
  if (words.length < 2) return [];
  return known.filter((one) => words.every((word) => wordsOf(one).includes(word)));
}

/** The known names with the smallest edit distance to a name, if this distance is at most `most`. */
function closest(name: string, known: readonly string[], most: number): string[] {
  const distances = known.map((one) => editDistance(fold(name), one));
  const least = Math.min(...distances);
  return least > most ? [] : known.filter((_, index) => distances[index] === least);
}

function fold(name: string): string {
  return name.toUpperCase().replaceAll('-', '_');
}

/** The words of a name, in upper case and without a final "S". */
function wordsOf(name: string): string[] {
  return fold(name)
    .split('_')
    .map((word) => word.replace(/(?<=.)S$/, ''));
}

function firstWord(name: string): string | undefined {
  return wordsOf(name)[0];
}

/** Counts insertions, deletions, substitutions and swaps of neighbouring letters. */
function editDistance(left: string, right: string): number {
  let rowBefore: number[] = [];
  let row = Array.from({ length: right.length + 1 }, (_, i) => i);
  for (let i = 1; i <= left.length; i++) {
    const next = [i];
    for (let j = 1; j <= right.length; j++) {
      const changed = row[j - 1] + (left[i - 1] === right[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1];
      const swapped = isSwap ? rowBefore[j - 2] + 1 : changed;
      next.push(Math.min(changed, swapped, row[j] + 1, next[j - 1] + 1));
    }
    rowBefore = row;
    row = next;
  }
  return row[right.length];
}
