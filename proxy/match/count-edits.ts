/** How many letters two texts differ in. */

/**
 * The fewest letters to add, remove or replace so that one text becomes the other (Levenshtein), in a band of
 * the matrix, since more than a few are never wanted.
 * @returns any number above `most` if there are more
 */
export function countEdits(one: string, other: string, most: number): number {
  if (Math.abs(one.length - other.length) > most) return most + 1;
  let before = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let i = 1; i <= one.length; i++) {
    const row = new Array<number>(other.length + 1).fill(most + 1);
    row[0] = i;
    let fewest = row[0];
    const end = Math.min(other.length, i + most);
    for (let j = Math.max(1, i - most); j <= end; j++) {
      const isSame = one.charCodeAt(i - 1) === other.charCodeAt(j - 1);
      row[j] = Math.min(before[j - 1] + (isSame ? 0 : 1), before[j] + 1, row[j - 1] + 1);
      if (row[j] < fewest) fewest = row[j];
    }
    if (fewest > most) return most + 1;
    before = row;
  }
  return before[other.length];
}
