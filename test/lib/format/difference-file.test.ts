/** Lines and names of difference files: what is written is read, and nothing else. */
import { expect, test } from 'vitest';
import { type Change, encodeDifference, parseDifference } from '#lib/format/difference-file.ts';
import { differenceFile, parseDifferenceFile } from '#lib/format/layout.ts';

const IDS = { from: '000002-0123456789ab', to: '000003-ba9876543210' };

test('a change is read as it was written, with the longest slugs, too', () => {
  const hash = '0123456789abcdef';
  const longest = `/games/${'a'.repeat(191)}/${'b'.repeat(191)}`;
  for (const [name, before, after] of [
    [{ kind: 'platform', id: 'snes', path: '/platforms/snes' }, null, hash],
    [{ kind: 'game', id: '18446744073709551615', path: '/games/~x_/a.b' }, hash, null],
    [{ kind: 'cover', id: '0', path: '/covers/0' }, hash, `${hash.slice(1)}0`],
    [{ kind: 'game', id: '9'.repeat(20), path: longest }, hash, null],
  ] as const) {
    const change: Change = { ...name, before, after };
    const text = encodeDifference(IDS, [change]);
    expect([...parseDifference(text, IDS)]).toEqual([change]);
    const [line] = text.split('\n');
    expect(JSON.parse(line)).toMatchObject({ path: name.path, before, after });
  }
});

const good: Change = {
  ...{ kind: 'game', id: '11', path: '/games/snes/f-zero' },
  ...{ before: null, after: '00000000000000ab' },
};

test.each([
  ['another kind', { kind: 'search' }],
  ['a path with a quote', { path: '/games/snes/f"zero' }],
  ['a short hash', { after: 'ab' }],
  ['an id that is not one', { id: '1,"x":1' }],
])('a change with %s is refused', (_, wrong) => {
  expect([...parseDifference(encodeDifference(IDS, [good]), IDS)]).toEqual([good]);
  const text = encodeDifference(IDS, [{ ...good, ...wrong } as Change]);
  expect(() => [...parseDifference(text, IDS)]).toThrow('a line is damaged');
});

test('a difference has at most so many bytes', () => {
  const text = encodeDifference(IDS, [good, good]);
  expect(encodeDifference(IDS, [good, good], text.length)).toBe(text);
  const tooFew = text.length - 1;
  const error = `their file would be larger than ${tooFew} bytes`;
  expect(() => encodeDifference(IDS, [good, good], tooFew)).toThrow(error);
});

test('only the name of a difference is one', () => {
  const difference = { number: 7, ...IDS };
  const name = differenceFile(difference);
  expect(parseDifferenceFile(name)).toEqual(difference);
  for (const wrong of [`.unfinished-${name}`, `${name}x`, name.slice(7), 'x.jsonl', '']) {
    expect(parseDifferenceFile(wrong), wrong).toBeUndefined();
  }
});
