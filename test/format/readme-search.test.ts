/** Compares the rules for words and for searching in `format/README.md` with the code. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { equalWords } from '../../format/index/equal-words.ts';
import { MOST_POSITIONS } from '../../format/index/reading-words.ts';
import { LONGEST_QUERY, MOST_WORDS, plainWordsOf, wordsOf } from '../../format/index/words.ts';
import { WORD_INDEX } from '../../format/layout.ts';
import { SORTS } from '../../proxy/search/query.ts';
import { ROOT } from '../support/product.ts';
import { codesOf, namesOf, readme, tablesOf } from './readme-tables.ts';

test('letters, apostrophes and signs become what the README says', () => {
  const [, from = '', to = ''] = /`((?:\S ){10}\S)` to `([^`]+)`/.exec(readme) ?? [];
  const letters = from.split(' ').map((letter) => wordsOf(`x${letter}y`)[0]?.slice(1, -1));
  expect(letters).toEqual(to.split(' '));
  const [, apostrophes = ''] = /apostrophes \(`` (.+?) ``\)/.exec(readme) ?? [];
  expect(apostrophes).toHaveLength(10);
  for (const sign of `${apostrophes}™℠`) expect(wordsOf(`a${sign}b`), sign).toEqual(['ab']);
  for (const sign of '¼¾⅐⅞↉') expect(wordsOf(`a${sign}b`)[0], sign).toBe('a');
});

test('its examples have the words that it gives', () => {
  const [, rows = []] = tablesOf(`### \`${WORD_INDEX}\``);
  expect(rows).toHaveLength(5);
  for (const [text, words, plain] of rows) {
    const [title = ''] = codesOf(text);
    expect(wordsOf(title), title).toEqual(codesOf(words));
    expect(plainWordsOf(title), title).toEqual(codesOf(plain));
  }
});

test('its groups of equal words are those of the search', () => {
  const [groups = []] = tablesOf('## Searching');
  const said = groups.flatMap(([, codes]) => codesOf(codes)).map((group) => group.split(' '));
  expect(said.length).toBeGreaterThan(30);
  for (const group of said) {
    for (const word of group) expect([...equalWords(word)].sort()).toEqual([...group].sort());
  }
  const words = said.flat();
  expect(new Set(words).size).toBe(words.length);
  const source = readFileSync(path.join(ROOT, 'format/index/equal-words.ts'), 'utf8');
  const inCode = [...source.matchAll(/'([a-z0-9 ]+)'/g)].flatMap(([, text = '']) =>
    text.split(' '),
  );
  const others = inCode.filter((word) => word !== '' && !words.includes(word));
  expect(others).toEqual(['ou', 'oo']);
  const [, alone = ''] = /are only equal to themselves: (.+?), and/.exec(readme) ?? [];
  const english = codesOf(alone);
  expect(english).toHaveLength(9);
  for (const other of ['i', '1', '21', 'xxi', 'the', '', ...english])
    expect(equalWords(other)).toEqual([other]);
});

test('its steps, tiers and limits are those of the search', () => {
  const [, , steps, tiers] = tablesOf('## Searching');
  expect(namesOf(steps)).toEqual(['exact', 'near', 'platform', 'partial']);
  expect(tiers?.map(([tier]) => tier)).toEqual(['0', '1', '2', '3', '4', '5', '6', '7']);
  expect(SORTS).toContain('relevance');
  expect(readme).toContain(`at most ${LONGEST_QUERY} characters`);
  expect(readme).toContain(`the first ${MOST_WORDS} words count`);
  expect(readme).toContain(`the first ${MOST_POSITIONS} words of each reading`);
});
