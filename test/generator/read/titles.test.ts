/** Which alternative titles are searched, and which are left out; and that no read ends early unnoticed. */
import { expect, test } from 'vitest';
import type { Row, Value } from '../../../database/database.ts';
import { textOfId } from '../../../format/index/ids.ts';
import { checkTitles, type TitleRow } from '../../../generator/read/read-catalogue.ts';
import { makeReadTable } from '../../../generator/read/read-table.ts';
import { makeReport } from '../../../generator/report/report.ts';

const HUGE = '9223372036854775807';
const PUBLISHED = new Set(['1', '2', '3', '5', HUGE]);

/** The titles after the ids of their games, and what is reported. */
function check(rows: readonly TitleRow[]) {
  const report = makeReport();
  report.setRows('game_titles', rows.length);
  const titles = checkTitles(rows, report, (id) => PUBLISHED.has(textOfId(id)));
  const { tables, rows: leftOut, warnings } = report.content();
  const reasons = leftOut.map(({ id, reason, value }) => [id, reason, value]);
  return { titles: Object.fromEntries(titles), table: tables.game_titles, reasons, warnings };
}

test('titles are sorted by UTF-16 code unit, whatever their order in the database', () => {
  // By code point, U+FF5A would be before U+1F600.
  const titles = ['1', 'Z', 'z', 'é', 'ファイナルVII', '😀', 'ｚ', ' padded ', 'a"\\\n\u0000'];
  const rows = [3, 1, HUGE, 2].flatMap((id) => titles.map((title): TitleRow => [id, title]));
  const sorted = titles.toSorted();
  for (const given of [rows, rows.toReversed()]) {
    expect(check(given)).toEqual({
      titles: { 1: sorted, 2: sorted, 3: sorted, [HUGE]: sorted },
      table: { rows: rows.length, left_out: 0, reasons: {} },
      ...{ reasons: [], warnings: [] },
    });
  }
});

test('bad rows are left out, counted and listed by reason, game and value, in any order', () => {
  const rows: TitleRow[] = [
    ...[null, '', ' \t\n', 1942].map((title): TitleRow => [1, title]),
    ...['Twice', 'twice', 'Twice', 'Twice'].map((title): TitleRow => [5, title]),
    ...([null, 77, 99] as const).map((game): TitleRow => [game, 'Of no game']),
  ];
  for (const given of [rows, rows.toReversed()]) {
    const { titles, table, reasons } = check(given);
    expect(titles).toEqual({ 5: ['Twice', 'twice'] });
    expect(reasons).toEqual([
      [null, 'game_id is not an unsigned whole number', null],
      [77, 'its game does not exist or is left out', 77],
      [99, 'its game does not exist or is left out', 99],
      [5, 'the title appears twice for its game', 'Twice'],
      [5, 'the title appears twice for its game', 'Twice'],
      [1, 'title is empty', ''],
      [1, 'title is empty', ' \t\n'],
      [1, 'title is not text', null],
      [1, 'title is not text', 1942],
    ]);
    expect(table).toMatchObject({ rows: 11, left_out: 9, reasons: { 'title is empty': 2 } });
  }
});

test('titles of games that are left out or gone never refuse a run', () => {
  const report = makeReport();
  report.setRows('game_titles', 40);
  const rows = Array.from({ length: 20 }, (_, i): TitleRow => [i % 2 ? 77 : 99, `Title ${i}`]);
  checkTitles(rows, report, (id) => PUBLISHED.has(textOfId(id)));
  expect([report.total(), report.faults()]).toEqual([20, []]);
});

test('a title that is not UTF-8 is searched, with one warning for each time it is kept', () => {
  const { titles, table, warnings } = check([3, 1, 1].map((id) => [id, 'Pok\ufffdmon']));
  expect([titles, table?.left_out]).toEqual([{ 1: ['Pok\ufffdmon'], 3: ['Pok\ufffdmon'] }, 1]);
  expect(warnings).toEqual([
    {
      table: 'game_titles',
      reason: 'title has bytes that are not UTF-8, or holds U+FFFD: searched with U+FFFD',
      count: 2,
      rows: [1, 3].map((id) => ({ id, value: 'Pok\ufffdmon' })),
    },
  ]);
});

test('whatever stands in the rows, each is read or reported', () => {
  const odd: Value[] = [
    ...[null, '', ' ', '\0', '0', '-1', '1', '007', '1.5', '1e1', 'one', HUGE, '\ud800', '\ufeff'],
    ...[0, -1, 1, 1.5, 2 ** 53, 1e300, 'x'.repeat(10_000), '😀'.repeat(3_000), '\u202e', '"\\'],
  ];
  const rows = odd.flatMap((id) => odd.map((title): TitleRow => [id, title]));
  const read = check(rows);
  expect(check(rows.toReversed())).toEqual(read);
  expect(Object.keys(read.titles)).toEqual(['1', HUGE]);
  expect(Object.values(read.titles).flat().length + read.table.left_out).toBe(rows.length);
  expect(read.reasons.length).toBeGreaterThan(100);
});

test.each([
  ['a whole table', undefined],
  ['chosen rows', { conditions: ['id < 9'], rows: 3 }],
  ['chosen rows that the server counts', { conditions: ['id < 9'], rows: undefined }],
])('a read of %s that ends early is an error', async (_, selection) => {
  const readOf = async (rows: readonly Row[]) => {
    const reader = {
      rows: async (sql: string) => (sql.includes('COUNT(*)') ? [[3]] : [...rows]),
      async each(_sql: string, onRow: (row: Row) => void) {
        rows.forEach(onRow);
        return rows.length;
      },
    };
    const found: Value[] = [];
    const take = ([id = null]: Row) => found.push(id);
    const readTable = makeReadTable(reader, makeReport(), () => {});
    await readTable('games', { columns: 'id', selection, blockOf: () => '', take });
    return found;
  };
  expect(await readOf([[1], [2], [3]])).toEqual([1, 2, 3]);
  await expect(readOf([[1], [2]])).rejects.toThrow(
    'The table games has 3 rows to read, but 2 arrived.',
  );
});
