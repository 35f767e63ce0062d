/** Lines of difference files: what is written is read, and nothing else. */
import { describe, expect, test } from 'vitest';
import {
  type Change,
  compareNames,
  compareRecords,
  encodeChange,
  encodeHead,
  encodeTail,
  LONGEST_LINE,
  parseChange,
  parseHead,
  parseTail,
  type RecordName,
} from '../../format/difference-file.ts';
import { differenceFile, idOfDifference } from '../../format/layout.ts';

const head = {
  from: '000001-0123456789ab',
  to: '000002-0123456789ab',
  published_at: '2026-11-22T10:00:00Z',
};
const names: readonly RecordName[] = [
  { kind: 'platform', id: 'snes', path: '/platforms/snes' },
  { kind: 'game', id: '11', path: '/games/snes/chrono-trigger' },
  { kind: 'game', id: '18446744073709551615', path: '/games/~x_/a.b' },
  { kind: 'cover', id: '0', path: '/covers/0' },
];
const withoutBreak = (line: string) => line.replace(/\n$/, '');

test.each(names)('a change of $path is read as it was written', (name) => {
  const [one, other] = ['0000000100000002', '00000001ffffffff'];
  for (const [before, after] of [
    [null, other],
    [one, null],
    [one, other],
  ] as const) {
    const change: Change = { ...name, before, after };
    const line = encodeChange(change);
    expect(parseChange(withoutBreak(line))).toEqual(change);
    expect(JSON.parse(line)).toMatchObject({ kind: name.kind, path: name.path, before, after });
  }
});

test('a line for the longest slugs is within the limit', () => {
  const path = `/games/${'a'.repeat(191)}/${'b'.repeat(191)}`;
  const hash = '0123456789abcdef';
  const change = { kind: 'game', id: '9'.repeat(20), path, before: hash, after: null } as const;
  const line = encodeChange(change);
  expect(line.length).toBeLessThan(LONGEST_LINE);
  expect(parseChange(withoutBreak(line))?.path).toBe(path);
});

const good =
  '{"kind":"game","id":11,"path":"/games/snes/f-zero","before":null,"after":"00000000000000ab"}';

test.each([
  ['another kind', '"game"', '"search"'],
  ['the path of another kind', '/games/snes/f-zero', '/covers/11'],
  ['a path with a step up', '/games/snes/f-zero', '/games/../keys'],
  ['a path with a quote', '/games/snes/f-zero', '/games/snes/f\\"zero'],
  ['a longer path', '/games/snes/f-zero', '/games/snes/f-zero/covers'],
  ['a slug as the id of a game', '11', '"f-zero"'],
  ['an id with leading zeros', '11', '011'],
  ['a negative id', '11', '-11'],
  ['an id that is not whole', '11', '11.5'],
  ['the same state before and after', '"00000000000000ab"', 'null'],
  ['a hash in capitals', '00000000000000ab', '00000000000000AB'],
  ['a short hash', '00000000000000ab', 'ab'],
  ['another member', ',"after"', ',"x":1,"after"'],
  ['white space', ',"after"', ', "after"'],
  ['text behind it', '"}', '"} '],
])('a change with %s is refused', (_, part, replacement) => {
  expect(parseChange(good)).toBeDefined();
  expect(good).toContain(part);
  expect(parseChange(good.replace(part, replacement))).toBeUndefined();
});

test.each([
  [
    '{"kind":"platform","id":"snes","path":"/platforms/nes","before":null,"after":"00000000000000ab"}',
  ],
  ['{"kind":"cover","id":1,"path":"/covers/2","before":null,"after":"00000000000000ab"}'],
])('a path that is not that of the id is refused: %s', (line) => {
  expect(parseChange(line)).toBeUndefined();
});

describe('a head', () => {
  test('is read as it was written', () => {
    expect(parseHead(withoutBreak(encodeHead(head)))).toEqual(head);
  });

  test.each([
    ['another version', { version: 2 }, 'version 2; this program reads version 1'],
    ['a wrong parent', { from: '../x' }, 'its parent is not the id'],
    ['a wrong generation', { to: 7 }, 'its generation is not the id'],
    ['a later parent', { from: '000003-0123456789ab' }, 'is not older than'],
    ['a wrong time', { published_at: 'today' }, 'its time is not a time'],
  ])('with %s is refused', (_, change, message) => {
    expect(() => parseHead(JSON.stringify({ version: 1, ...head, ...change }))).toThrow(message);
  });

  test.each(['', '{', 'null', '[]', '"x"'])('that is %s is refused', (line) => {
    expect(() => parseHead(line)).toThrow();
  });
});

test('a tail is read as it was written, and nothing else', () => {
  const sha256 = 'ab'.repeat(32);
  const line = withoutBreak(encodeTail(12, sha256));
  expect(parseTail(line)).toEqual({ changes: 12, sha256 });
  for (const wrong of [`${line} `, line.replace('12', '-1'), line.replace('ab', 'AB'), '{}']) {
    expect(parseTail(wrong), wrong).toBeUndefined();
  }
});

test('changes are in the order of kind, id as a number, and path', () => {
  const ordered: readonly RecordName[] = [
    { kind: 'platform', id: 'a-10', path: '/platforms/a-10' },
    { kind: 'platform', id: 'a-9', path: '/platforms/a-9' },
    { kind: 'game', id: '9', path: '/games/a/z' },
    { kind: 'game', id: '10', path: '/games/a/a' },
    { kind: 'game', id: '10', path: '/games/a/b' },
    { kind: 'game', id: '9007199254740993', path: '/games/a/a' },
    { kind: 'game', id: '9007199254740994', path: '/games/a/a' },
    { kind: 'cover', id: '1', path: '/covers/1' },
  ];
  for (const [i, a] of ordered.entries()) {
    for (const [j, b] of ordered.entries()) {
      expect(Math.sign(compareNames(a, b)), `${a.path} ${b.path}`).toBe(Math.sign(i - j));
    }
  }
  expect(compareRecords(ordered[3] as RecordName, ordered[4] as RecordName)).toBe(0);
});

test('only the name of a difference has an id', () => {
  expect(idOfDifference(differenceFile(head.to))).toBe(head.to);
  for (const name of [head.to, `.unfinished-${head.to}.jsonl`, `${head.to}.json`, 'x.jsonl', '']) {
    expect(idOfDifference(name), name).toBeUndefined();
  }
});
