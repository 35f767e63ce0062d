/**
 * The distance between spellings, in edits: the insertion, deletion or substitution of one letter, or the swap of
 * two neighbouring ones.
 */

/**
 * Whether this many edits turn a word, from `i` on, into the wanted one, from `j` on.
 * @param withSwaps whether a swap is one edit rather than two
 */
export function canBecome(
  word: readonly number[],
  wanted: readonly number[],
  edits: number,
  withSwaps: boolean,
  i = 0,
  j = 0,
): boolean {
  while (i < word.length && j < wanted.length && word[i] === wanted[j]) {
    i++;
    j++;
  }
  const rest = word.length - i + wanted.length - j;
  if (i === word.length || j === wanted.length) return rest <= edits;
  if (edits === 0) return false;
  const isSwapped = withSwaps && word[i] === wanted[j + 1] && word[i + 1] === wanted[j];
  return (
    canBecome(word, wanted, edits - 1, withSwaps, i + 1, j + 1) ||
    canBecome(word, wanted, edits - 1, withSwaps, i + 1, j) ||
    canBecome(word, wanted, edits - 1, withSwaps, i, j + 1) ||
    (isSwapped && canBecome(word, wanted, edits - 1, withSwaps, i + 2, j + 2))
  );
}
