/** Which words of a title are near enough to those of a query, through the whole search. */
import { describe, expect, test } from 'vitest';
import { searchOf } from './made-search.ts';

describe('a near spelling', async () => {
  const EXAMPLES: readonly [queryWord: string, titleWord: string, isNear: boolean][] = [
    ['zelfa', 'zelda', true],
    ['zleda', 'zelda', true],
    ['zeldaa', 'zelda', true],
    ['elda', 'zelda', true],
    ['zlead', 'zelda', false],
    ['doo', 'doom', false],
    ['dom', 'doom', false],
    ['dooms', 'doom', true],
    ['castelvaina', 'castlevania', true],
    ['casltevanai', 'castlevania', true],
    ['catselvaina', 'castlevania', false],
    // The swapped letters must be neighbours in the end: this takes three edits.
    ['abcdefgh', 'cabdefhg', false],
    ['abxdexg', 'abcdefg', false],
    ['abxdexgh', 'abcdefgh', true],
    ['1942', '1943', false],
    ['1942', '1942a', false],
    ['nhl94', 'nhl95', false],
    ['nlh94', 'nhl94', true],
    ['nhl49', 'nhl94', false],
    ['mother', 'mother3', false],
    ['mohter3', 'mother3', true],
    ['xviii', 'viii', false],
    ['xiiv', 'xiii', false],
    ['xviiis', 'xviii', false],
    ['𠮷野屋', '𠮷野家', false],
    ['𠮷野屋敷', '𩸽野屋敷', true],
  ];
  // Each title word on a platform of its own, because there the other steps must find nothing.
  const platforms = new Map(
    [...new Set(EXAMPLES.map(([, title]) => title))].map((title, i) => [title, `own-${i}`]),
  );
  const made = await searchOf(...[...platforms].map(([title, platform]) => ({ title, platform })));

  test.each(EXAMPLES)('%s for %s: %s', (queryWord, titleWord, isNear) => {
    const { step } = made.search({ q: queryWord, platform: platforms.get(titleWord) });
    expect(step === 'near').toBe(isNear);
  });
});
