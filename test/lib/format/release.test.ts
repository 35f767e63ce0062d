/** Releases are read as they were written, and everything else is refused. */
import { describe, expect, test } from 'vitest';
import { parseObject, shown } from '#lib/format/json/parse-file.ts';
import { encodeRelease, makeRelease, parseRelease, signedText } from '#lib/format/release.ts';

const sha256 = 'ab'.repeat(32);
const released_at = '2026-03-01T12:00:00.000Z';
const release = makeRelease('snapshot', {
  id: '000041-8b1a9953c461',
  sequence: 41,
  sha256,
  released_at,
});
const keys = makeRelease('keys', { sequence: 7, sha256, released_at });

describe('a release', () => {
  test('is read as it was written, with any signature', () => {
    const signature = `${'A'.repeat(86)}==`;
    for (const each of [release, { ...release, signature }, { ...release, released_at: null }]) {
      expect(parseRelease(encodeRelease(each), 'snapshot')).toEqual(each);
    }
    expect(parseRelease(encodeRelease(keys), 'keys')).toEqual(keys);
  });

  test('of keys is not one of a snapshot, and has another signed text', () => {
    expect(() => parseRelease(encodeRelease(keys), 'snapshot')).toThrow(/"id" is "keys"/);
    expect(() => parseRelease(encodeRelease(release), 'keys')).toThrow(/"id" is "000041-/);
    expect(signedText(keys)).not.toBe(signedText({ ...keys, id: release.id }));
  });

  test.each([
    ['nothing', /not JSON/],
    ['[]', /not an object/],
    ['['.repeat(9), /nested more than 8 deep/],
    [{ format_version: 9 }, /format version 9; this program reads version 1/],
    [{ id: '../../etc' }, /"id" is "..\/..\/etc"/],
    [{ sequence: -1 }, /"sequence" is -1/],
    [{ sha256: 'a' }, /"sha256" is "a"/],
    [{ released_at: 'yesterday' }, /"released_at"/],
    [{ signature: 'A' }, /"signature"/],
  ])('that is wrong is refused: %j', (wrong, expected) => {
    const text = typeof wrong === 'string' ? wrong : JSON.stringify({ ...release, ...wrong });
    expect(() => parseRelease(text, 'snapshot')).toThrow(expected);
  });
});

test('errors show values cut and without control characters', () => {
  expect(shown('a\u001b[2Jb\u009bé\u202e')).toBe('"a\\u001b[2Jb???"');
  expect(shown('x'.repeat(40_000_000)).length).toBeLessThan(120);
  expect(shown(undefined)).toBe('undefined');
});

test('nesting is counted outside of texts only', () => {
  const nested = (depth: number) =>
    `{"a":${'['.repeat(depth - 1)}"[[\\"["${']'.repeat(depth - 1)}}`;
  expect(parseObject(nested(2), 'It')).toEqual({ a: ['[["['] });
  expect(() => parseObject(nested(8), 'It')).not.toThrow();
  expect(() => parseObject(nested(9), 'It')).toThrow('It is damaged: it is nested more');
  expect(() => parseObject(Buffer.alloc(1000, '['), 'It')).toThrow(/nested/);
});
