/** Times of the usual form, read without a regular expression. */
import { expect, test } from 'vitest';
import { timeOf } from '../../../generator/changes/find-changes.ts';
import { plainSeconds } from '../../../generator/read/row-checks.ts';
import { makeRandom } from '../../catalogue/random.ts';

test('a time gives the seconds since 1970', () => {
  const random = makeRandom(3);
  for (let i = 0; i < 5000; i++) {
    const seconds = Math.floor(random.next() * 4e9);
    const text = new Date(seconds * 1000).toISOString().slice(0, 19).replace('T', ' ');
    expect(plainSeconds(text)).toBe(seconds);
  }
  expect(plainSeconds('0001-01-01 00:00:00')).toBe(Date.parse('0001-01-01T00:00:00Z') / 1000);
});

test('a time of another form, or one that does not exist, gives NaN', () => {
  const others = [
    '',
    '2026-01-01',
    '2026-01-01T00:00:00',
    '2026-01-01 00:00:00.0',
    '2026-01-01 00:00:0x',
    '2026-01-01 0/:00:00',
    '2026-01-01 00:00::0',
    '2026-01-01 24:00:00',
    '2026-01-01 00:60:00',
    '2026-01-01 00:00:60',
    '2026-02-29 00:00:00',
    '2026-13-01 00:00:00',
    '0000-00-00 00:00:00',
  ];
  for (const text of others) expect(plainSeconds(text)).toBeNaN();
});

test('the time of a row may have fractions of a second, or be a number', () => {
  const seconds = Date.UTC(2026, 0, 2, 3, 4, 5) / 1000;
  expect(timeOf('2026-01-02 03:04:05')).toBe(seconds);
  expect(timeOf('2026-01-02T03:04:05Z')).toBe(seconds);
  expect(timeOf('2026-01-02 03:04:05.25')).toBe(seconds);
  expect(timeOf(seconds)).toBe(seconds);
  expect(timeOf(`${seconds}500`)).toBe(seconds + 0.5);
  for (const unknown of [null, '', 'today', '2026-02-31 03:04:05', '0000-00-00 00:00:00']) {
    expect(timeOf(unknown)).toBeNaN();
  }
});
