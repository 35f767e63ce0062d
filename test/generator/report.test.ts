/** What a report counts and lists, when it refuses a run, and how it shows values. */
import { expect, test } from 'vitest';
import { makeRandom } from '#demo/catalogue/random.ts';
import {
  MOST_LISTED,
  Report,
  RowFault,
  shownValue,
  summaryOf,
  type TableName,
} from '#generator/report/report.ts';
import type { Manifest, ManifestContent } from '#lib/format/manifest.ts';
import { findMissingCovers, findShrinkage } from '#lib/generations/publish.ts';
import { printableJson } from '#lib/program/printable.ts';

/** A report of a table with so many bad rows, and so many that are left out with another row. */
function reportOf(table: TableName, rows: number, bad: number, gone: number) {
  const report = new Report();
  report.setRows(table, rows);
  for (let i = 0; i < bad; i++) report.leaveOut(table, '0', i, new RowFault('bad', i));
  const consequence = new RowFault('gone', null, { isConsequence: true });
  for (let i = 0; i < gone; i++) report.leaveOut(table, '1', i, consequence);
  return report;
}

test.each<[string, TableName, number, number, number, string?]>([
  ['bad rows, more than 1 %', 'games', 999, 10, 0, 'break the contract, more than 1 % (10: bad)'],
  ['bad titles', 'game_titles', 990, 10, 0, 'break the contract, more than 1 % (10: bad)'],
  ['exactly 1 % of a table', 'games', 1000, 10, 0],
  ['nine rows of a small table', 'games', 19, 9, 0],
  ['many rows whose parent is gone', 'covers', 100, 0, 50],
  ['most of a table', 'covers', 100, 1, 50, 'are left out, more than half (50: gone; 1: bad)'],
  ['all rows of a small table', 'platforms', 1, 1, 0, 'are left out, more than half (1: bad)'],
])('whether a run is refused for %s', (_, table, rows, bad, gone, fault) => {
  const report = reportOf(table, rows, bad, gone);
  const text = `${bad + gone} of ${rows} rows of ${table} ${fault}`;
  expect(report.faults()).toEqual(fault === undefined ? [] : [text]);
  expect(report.total()).toBe(bad + gone);
});

test('a refusal names the three most frequent reasons', () => {
  const report = reportOf('games', 10, 1, 4);
  for (const reason of ['two', 'two', 'more'])
    report.leaveOut('games', '2', 1, new RowFault(reason, null));
  expect(report.faults()[0]).toContain('(4: gone; 2: two; 1: bad; …)');
});

test('a table may lose a fifth of its rows, and a first generation must have a cover', () => {
  const counts = { platforms: 1, games: 100, covers: 100, cover_files: 10, left_out: 0 };
  const having = (changes: Partial<typeof counts>) =>
    ({ counts: { ...counts, ...changes } }) as Manifest & ManifestContent;
  const shrinkage = (changes: Partial<typeof counts>) =>
    findShrinkage({ id: 'a', manifest: having({}) }, having(changes));
  expect(shrinkage({ games: 80, covers: 80, cover_files: 8, platforms: 0 })).toEqual([]);
  expect(shrinkage({ games: 79, covers: 0, cover_files: 7 })).toEqual([
    'games fall from 100 to 79, by more than 20 %',
    'covers fall from 100 to 0, by more than 20 %',
    'cover_files fall from 10 to 7, by more than 20 %',
  ]);
  const missing = (manifest: Manifest | undefined, covers: number, games = 20) =>
    findMissingCovers({ id: undefined, manifest }, having({ games, covers }));
  for (const before of [undefined, having({ games: 0, covers: 0 })]) {
    expect(missing(before, 0)).toEqual(['not one of 20 games has an approved cover']);
    expect([missing(before, 1), missing(before, 0, 0)]).toEqual([[], []]);
  }
  expect(missing(having({}), 0)).toEqual([]);
});

test('rows are listed by reason, id and value in any order, the first hundred of each reason', () => {
  const rows = Array.from({ length: 150 }, (_, i): ['bad' | 'odd', number | string | null] => [
    i < 145 ? 'bad' : 'odd',
    i < 145 ? 1000 - i : [null, 7, 7, '18446744073709551615', 'x'][i - 145],
  ]);
  const random = makeRandom(3);
  const contents = Array.from({ length: 3 }, () => {
    const shuffled = rows.map((row) => [random.next(), row] as const).sort(([a], [b]) => a - b);
    const report = new Report();
    report.setRows('games', 200);
    // Blocks are merged.
    for (const [at, [reason, id]] of shuffled)
      report.leaveOut('games', at < 0.5 ? '0' : '1', id, new RowFault(reason, 'v'));
    return report.content();
  });
  const [content] = contents;
  for (const other of contents) expect(other).toEqual(content);
  expect(content.tables.games).toEqual({ rows: 200, left_out: 150, reasons: { bad: 145, odd: 5 } });
  expect(summaryOf(content)).toEqual(['145 of games: bad', '5 of games: odd']);
  const ids = content.rows.map(({ id }) => id);
  expect(ids.slice(0, MOST_LISTED)).toEqual(Array.from({ length: 100 }, (_, i) => 856 + i));
  expect(ids.slice(MOST_LISTED)).toEqual([null, 7, 7, '18446744073709551615', 'x']);
});

test('the block of a row that has no id, and a fault that depends on all rows, need a full run', () => {
  const report = new Report();
  report.leaveOut('covers', '4', 1, new RowFault('a', 1));
  expect(report.blocks()?.map(([block]) => block)).toEqual(['4']);
  report.leaveOut('covers', undefined, null, new RowFault('b', null));
  expect(report.blocks()).toBe(undefined);
  const other = new Report();
  other.leaveOut('covers', '4', 1, new RowFault('a', 1, { dependsOn: 'all rows' }));
  expect(other.blocks()).toBe(undefined);
});

test('values are shown in full up to 200 characters, and are safe to print', () => {
  expect(shownValue('x'.repeat(200))).toBe('x'.repeat(200));
  expect(shownValue('x'.repeat(10_000))).toBe(`${'x'.repeat(200)}… (10000 characters)`);
  expect([null, 5, Number.NaN].map((value) => shownValue(value))).toEqual([null, 5, 'NaN']);
  const unsafe = 'esc\u001b[31m\u009b \u202e\u{e0001}\u2028\ufeff\u007f\n\ud800';
  const printed = printableJson({ unsafe });
  expect(printed).toMatch(/^[ -~]+$/);
  expect(JSON.parse(printed)).toEqual({ unsafe });
});
