/** The words of the plain reference of search, and which of them are equal or near. */
import { describe, expect, test } from 'vitest';
import { plainWordsOf, wordsOf } from '../../../format/index/words.ts';
import { makeRandom } from '../../catalogue/random.ts';
import { seededCatalogue } from '../../catalogue/seeded.ts';
import {
  editDistance,
  equalWords,
  isNearSpelling,
  writtenTogether,
} from './reference/equal-words.ts';
import { plainWordsIn, wordsIn } from './reference/words.ts';

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
  expect(wordsIn(text).join(' ')).toBe(words);
  expect(plainWordsIn(text).join(' ')).toBe(plainWords);
});

test('they are those of the product', () => {
  const titles = [...seededCatalogue({ games: 4_000, seed: 11 }).games].map((row) =>
    String(row[3]),
  );
  const { below, pick } = makeRandom(12);
  const rules = [...'a.b&c+#.あｃ＋. 漢é3'];
  const makers = [() => pick(rules), () => String.fromCodePoint(below(pick([0x400, 0x3_0000])))];
  const noise = Array.from({ length: 8_000 }, () => {
    const make = pick(makers);
    return Array.from({ length: 7 }, make).join('');
  });
  for (const text of [...titles, ...noise]) {
    expect(wordsIn(text), JSON.stringify(text)).toEqual(wordsOf(text));
    expect(plainWordsIn(text), JSON.stringify(text)).toEqual(plainWordsOf(text));
  }
});

test('equal words are pairs', () => {
  expect(equalWords('vii')).toEqual(['vii', '7']);
  expect(equalWords('7')).toEqual(['7', 'vii']);
  expect(equalWords('and')).toEqual(['and', 'n']);
  expect(equalWords('doom')).toEqual(['doom']);
  expect([...writtenTogether(['dr', '2'])]).toEqual(['dr2', 'drii', 'doctor2', 'doctorii']);
});

describe('near spellings', () => {
  test.each([
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
  ])('%s for %s: %s', (queryWord, titleWord, isNear) => {
    expect(isNearSpelling(titleWord, queryWord)).toBe(isNear);
  });

  test('an edit is an insertion, a deletion, a replacement or a swap of neighbours', () => {
    expect(editDistance('', 'abc')).toBe(3);
    expect(editDistance('abc', '')).toBe(3);
    expect(editDistance('kitten', 'sitting')).toBe(3);
    expect(editDistance('ab', 'ba')).toBe(1);
    // No letter is edited twice: 2 with an unrestricted swap.
    expect(editDistance('ca', 'abc')).toBe(3);
  });
});
