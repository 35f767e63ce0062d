/**
 * The edit distance as a plain table. A swap of two neighbouring letters is one edit, or else two. A letter is
 * a code point.
 */
export function editDistance(left: string, right: string, isSwapOne = true): number {
  const a = [...left];
  const b = [...right];
  const rows = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const changed = rows[i - 1][j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(changed, rows[i - 1][j] + 1, row[j - 1] + 1));
      if (isSwapOne && i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        row[j] = Math.min(row[j], rows[i - 2][j - 2] + 1);
      }
    }
    rows.push(row);
  }
  return rows[a.length][b.length];
}
