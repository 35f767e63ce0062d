/** `Range` and `If-Range`: which part of a body of 1,000 bytes a request gets. */
import { expect, test } from 'vitest';
import { readRange } from '#proxy/api/downloads.ts';

const ETAG = '"abc"';
const range = (text: string | undefined, ifRange?: string, size = 1000) =>
  readRange(text, ifRange, ETAG, size);

test.each([
  ['bytes=0-0', { from: 0, to: 1 }],
  ['bytes=0-', { from: 0, to: 1000 }],
  ['bytes=999-', { from: 999, to: 1000 }],
  ['bytes=10-19', { from: 10, to: 20 }],
  ['bytes=990-5000', { from: 990, to: 1000 }],
  [`bytes=0-${'9'.repeat(23)}`, { from: 0, to: 1000 }],
  ['bytes=-1', { from: 999, to: 1000 }],
  [`bytes=-${'9'.repeat(23)}`, { from: 0, to: 1000 }],
  ['bytes=-5000', { from: 0, to: 1000 }],
  ['Bytes= 1-2 ', { from: 1, to: 3 }],
])('%s is satisfied', (text, expected) => {
  expect(range(text)).toEqual(expected);
});

test.each(['bytes=1000-', 'bytes=5000-6000', `bytes=${'9'.repeat(23)}-`, 'bytes=-0'])(
  '%s is unsatisfiable',
  (text) => {
    expect(range(text)).toBe('unsatisfiable');
  },
);

test.each([
  undefined,
  ...['', 'bytes', 'bytes=', 'bytes=-', 'bytes=a-b', 'bytes=2-1', 'bytes=1-2,4-5', 'bytes=0-1 x'],
  ...['lines=0-1', 'bytes=1.5-2', 'bytes=--1', 'bytes=+1-2'],
])('%j is ignored', (text) => {
  expect(range(text)).toBe('whole');
});

test('every range of an empty file is unsatisfiable', () => {
  expect(range('bytes=0-', undefined, 0)).toBe('unsatisfiable');
  expect(range('bytes=-5', undefined, 0)).toBe('unsatisfiable');
});

test('If-Range must be the ETag itself: no other one, no weak one and no date', () => {
  expect(range('bytes=1-', ETAG)).toEqual({ from: 1, to: 1000 });
  for (const other of ['"abd"', `W/${ETAG}`, 'Sun, 22 Nov 2026 14:00:00 GMT', `${ETAG}, "x"`]) {
    expect(range('bytes=1-', other)).toBe('whole');
    expect(range('bytes=5000-', other)).toBe('whole');
  }
});
