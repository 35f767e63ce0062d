/** CSV of the explorer, as a spreadsheet reads it. */
import { expect, test } from 'vitest';
import { csvLine } from '#site/explore/csv.ts';

test('each value is quoted, and a list is one value', () => {
  expect(csvLine(['A "B"', 12, -1, null, ['x', 'y'], "'tis, x"])).toBe(
    `"A ""B""","12","-1","","x,y","'tis, x"`,
  );
});

test.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '\n=1', '＝1', '=cmd|"/c calc"!A1'])(
  'the text %j stays a text',
  (text) => {
    expect(csvLine([text])).toBe(`"'${text.replaceAll('"', '""')}"`);
  },
);
