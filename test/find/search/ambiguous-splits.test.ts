/**
 * Titles that can be split in many ways, and queries of such words: the work must not multiply with each
 * word. There are more than a million ways to read eight such words, so a search that tried each would not end
 * before the test does.
 */
import { expect, test } from 'vitest';
import { searchOf } from './made-search.ts';

const TITLE = 'b bb b bb bbb b bbb bb bbb bbbb b bbbb bb bbbb';
const words = ['b', 'bb', 'bbb', 'bbbb', 'bbbbb'];
const all = words.flatMap((a) => words.flatMap((b) => words.map((c) => `${a} ${b} ${c}`)));
const search = await searchOf('Another', TITLE, all.join(' '));

test.each([
  ['bbbbb', 'title_asc'],
  ['bbbbbb', 'relevance'],
  ['bbbbbbb', 'relevance'],
])('eight times %s, by %s, is answered', (word, sort) => {
  const q = new Array<string>(8).fill(word).join(' ');
  expect(search.search({ q, sort }).step).toBe('exact');
});
