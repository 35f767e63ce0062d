/** The words of titles and queries, and which words of a title are near enough to those of a query. */
import { beforeAll, describe, expect, test } from 'vitest';
import { plainWordsOf, wordsOf } from '../../../format/index/words.ts';
import { type MadeSearch, searchOf } from './made-search.ts';

test.each<[text: string, words: string, plainWords?: string]>([
  ['Chrono Trigger', 'chrono trigger'],
  ['  -- ', ''],
  ["Assassin’s Creed: Altaïr's", 'assassins creed altairs'],
  ['Ｆｕｌｌ　Ｗｉｄｔｈ', 'full width'],
  ['Straße Ærø Łódka', 'strasse aero lodka'],
  ['Alien³ 3½ ™ №5', 'alien3 3 1 2 no5'],
  ['ドラゴンクエストV', 'ドラゴンクエスト v'],
  ['どうぶつの森e+ ﾄﾞﾗ すゞめ', 'ドウブツノ森 e ドラ スヾメ'],
  ['우주전설 2', '우주전설 2'],
  ['Sonic & Knuckles', 'sonic and knuckles', 'sonic knuckles'],
  ['Q&A＆B﹠C', 'q and a and b and c', 'q a b c'],
  ['&', 'and', ''],
  ['S.T.A.L.K.E.R.: Clear', 'stalker clear', 's t a l k e r clear'],
  ['R.C. Pro-Am', 'rc pro am', 'r c pro am'],
  ['I.Q', 'iq', 'i q'],
  ['É.Ｔ．', 'et', 'e t'],
  ['Dr.Mario', 'dr mario'],
  ['a.b.cd', 'ab cd', 'a b cd'],
  ['ab.c.d', 'ab cd', 'ab c d'],
  ['a.b.1', 'ab 1', 'a b 1'],
  ['1.a.b2', '1 a b2'],
  ['a..b a.&.b', 'a b a and b', 'a b a b'],
  ['Тетрис Т.Е.', 'тетрис те', 'тетрис т е'],
  ['C++ C# c＋＋', 'c++ c# c++'],
  ['C++11 c++c xc++ C+ c##', 'c 11 c c xc c c#'],
  ['c&c++', 'c and c++', 'c c++'],
  ['a.c++', 'ac', 'a c++'],
  ['C++入門', 'c 入門'],
])('the words of %s are %s', (text, words, plainWords = words) => {
  expect(wordsOf(text).join(' ')).toBe(words);
  expect(plainWordsOf(text).join(' ')).toBe(plainWords);
});

describe('a near spelling', () => {
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
    ['𠮷野屋', '𠮷野家', false],
    ['𠮷野屋敷', '𩸽野屋敷', true],
  ];
  // Each title word on a platform of its own, because there the other steps must find nothing.
  const platforms = new Map(
    [...new Set(EXAMPLES.map(([, title]) => title))].map((title, i) => [title, `own-${i}`]),
  );
  let made: MadeSearch;
  beforeAll(async () => {
    made = await searchOf(...[...platforms].map(([title, platform]) => ({ title, platform })));
  });

  test.each(EXAMPLES)('%s for %s: %s', (queryWord, titleWord, isNear) => {
    const { step } = made.search({ q: queryWord, platform: platforms.get(titleWord) });
    expect(step === 'near').toBe(isNear);
  });
});
