/** Content hashes, and the names that become paths. */
import { createHash } from 'node:crypto';
import path from 'node:path';
import { expect, test } from 'vitest';
import { hashBytes, hexOf } from '#lib/format/content-hash.ts';
import { coversPack, gamesPack, generationId, isGenerationId, isSlug } from '#lib/format/layout.ts';

test('a content hash is the first 64 bits of the SHA-256, the same for a text and its bytes', () => {
  const texts = ['', 'a', 'é𠮷', '\0', 'x'.repeat(100_000), ...Array.from({ length: 200 }, String)];
  for (const text of texts) {
    const bytes = Buffer.from(text);
    const expected = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
    expect(hexOf(hashBytes(text))).toBe(expected);
    expect(hashBytes(bytes)).toEqual(hashBytes(text));
  }
  expect(hexOf([1, 2 ** 32 - 1])).toBe('00000001ffffffff');
});

test('only slugs and ids that are safe in paths are valid', () => {
  for (const slug of ['a', 'A.b~c_d-9', '-', '~', 'a'.repeat(191)]) {
    expect(isSlug(slug), slug).toBe(true);
    expect(path.normalize(gamesPack(slug))).toBe(`games/${slug}.json`);
    expect(path.normalize(coversPack(slug))).toBe(`covers/${slug}.json`);
  }
  const unsafe = ['', '.', '..', '.a', 'a/b', 'a\\b', 'a b', 'a\n', 'é', '%41', 'a'.repeat(192)];
  for (const slug of unsafe) expect(isSlug(slug), slug).toBe(false);
  const hash = 'abcdef0123456789';
  for (const sequence of [0, 1, 999_999, 1_000_000, 1e14]) {
    expect(isGenerationId(generationId(sequence, hash))).toBe(true);
  }
  const others = ['', '1-abcdef012345', '../000001-abcdef012345', '000001-ABCDEF012345', 'current'];
  for (const name of others) expect(isGenerationId(name), name).toBe(false);
  expect(isGenerationId(`${generationId(1, hash)}\n`)).toBe(false);
});
