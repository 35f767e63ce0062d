/** The one tokeniser: how titles and queries become words, whatever text comes. */
import { describe, expect, test } from 'vitest';
import { makeRandom } from '#demo/catalogue/random.ts';
import {
  foldCase,
  isScriptWithoutSpaces,
  nearSpellingDistance,
  plainWordsOf,
  WORD_RULES,
  wordsOf,
} from '#find/text/words.ts';

test.each([
  // Case, accents, apostrophes, width and punctuation are folded away.
  ["Assassin's Creed", ['assassins', 'creed']],
  ['Assassin’s Creed', ['assassins', 'creed']],
  ['Pokémon', ['pokemon']],
  ['Poke\u0301mon', ['pokemon']],
  ['ＦＩＮＡＬ　ＦＡＮＴＡＳＹ　７', ['final', 'fantasy', '7']],
  ['Ærøskøbing Straße', ['aeroskobing', 'strasse']],
  ['STRASSE ẞ', ['strasse', 'ss']],
  ['İstanbul Işık', ['istanbul', 'isik']],
  ['ΟΔΥΣΣΕΥΣ Οδυσσεύς', ['οδυσσευσ', 'οδυσσευσ']],
  ['ﬁnal ﬀ', ['final', 'ff']],
  ['Ковчег Ёлка', ['ковчег', 'елка']],
  ['Tiếng Việt ŉ', ['tieng', 'viet', 'n']],
  // Digits and signs.
  ['F-Zero: GX / AX', ['f', 'zero', 'gx', 'ax']],
  ['Baseball 2\u00a0000', ['baseball', '2', '000']],
  ['3½ ½', ['3', '1', '2', '1', '2']],
  ['007 No.1 Ⅲ ²', ['007', 'no', '1', 'iii', '2']],
  ['Tetris™ Cola℠ Foo® ©1999', ['tetris', 'cola', 'foo', '1999']],
  ['rock_n_roll', ['rock', 'n', 'roll']],
  ['go go GO', ['go', 'go', 'go']],
  ['C++ C# C+++ c##', ['c++', 'c#', 'c++', 'c#']],
  ['Visual-C++/C#', ['visual', 'c++', 'c#']],
  // Only whole words: no letter or digit before the "c" or after the signs.
  ['ABC++ c++11 C#4 a# c+ +c', ['abc', 'c', '11', 'c', '4', 'a', 'c', 'c']],
  // Japanese, Chinese and Korean are words of their own. The voicing marks of kana are not accents.
  ['アタックNo.1', ['アタック', 'no', '1']],
  ['ドラゴンクエストIII そして伝説へ', ['ドラゴンクエスト', 'iii', 'ソシテ伝説ヘ']],
  // Hiragana count as katakana, also those that only katakana have with a voicing mark.
  ['ぁあゔゖ', ['ァアヴヶ']],
  ['ゝゞ ゟ', ['ヽヾ', 'ヨリ']],
  ['か\u3099 ガ', ['ガ', 'ガ']],
  ['わ\u3099を\u3099', ['ヷヺ']],
  ['ﾄﾞﾗｺﾞﾝ', ['ドラゴン']],
  ['ト\u3099ラコ\u3099ン', ['ドラゴン']],
  ['スーパーマリオ2人', ['スーパーマリオ', '2', '人']],
  ['三国志・英雄', ['三国志', '英雄']],
  // Old, new and simplified forms of a kanji.
  ['三國志 龍竜龙', ['三国志', '竜竜竜']],
  ['우주전설 2', ['우주전설', '2']],
  ['한글'.normalize('NFD'), ['한글']],
  // Four-byte characters.
  ['𠮷野家 \u{20000}\u{20001}', ['𠮷野家', '\u{20000}\u{20001}']],
  ['𝐆𝐚𝐦𝐞', ['game']],
  ['𐐀𐐁', ['𐐨𐐩']],
  ['🎮 game🎮boy 🎮', ['game', 'boy']],
  // Nothing to find.
  ['', []],
  ["  !!! … ' ™ 🎮 ", []],
  // Halves of four-byte characters separate words and are none.
  ['a\ud842b \udfb7 \ud83c', ['a', 'b']],
  ['\udfb7\ud842', []],
])('%j has the words %j', (text, words) => {
  expect(wordsOf(text)).toEqual(words);
  expect(plainWordsOf(text)).toEqual(words);
});

test.each([
  // "&" is the word "and".
  ['Rock & Roll', ['rock', 'and', 'roll'], ['rock', 'roll']],
  ['A&B ＆', ['a', 'and', 'b', 'and'], ['a', 'b']],
  ['&', ['and'], []],
  // Letters separated by dots are one word, with or without a dot at the end.
  ['S.T.A.L.K.E.R.: Zone', ['stalker', 'zone'], [...'stalker', 'zone']],
  ['R.C. Pro-Am', ['rc', 'pro', 'am'], ['r', 'c', 'pro', 'am']],
  ['I.Q É．Б x', ['iq', 'eб', 'x'], ['i', 'q', 'e', 'б', 'x']],
  ['𠮷.野', ['𠮷野'], ['𠮷', '野']],
])('%j has the words %j and the plain words %j', (text, words, plain) => {
  expect(wordsOf(text)).toEqual(words);
  expect(plainWordsOf(text)).toEqual(plain);
});

test.each(['No.1 1.2.3 A.1', 'ab.c a.bc', 'a..b', '.a b.', 'ß.a'])(
  'no letters of %j are initials',
  (text) => expect(wordsOf(text)).toEqual(plainWordsOf(text)),
);

test('a text of printable ASCII has the same words as beside a letter with an accent', () => {
  const random = makeRandom(3);
  const characters = Array.from({ length: 0x7f - 0x20 }, (_, i) => String.fromCharCode(0x20 + i));
  for (let i = 0; i < 5000; i++) {
    const some = i % 2 ? characters : [...'aCb1 ', ..."'-&.+#"];
    const text = Array.from({ length: random.below(40) }, () => random.pick(some)).join('');
    expect([text, ...wordsOf(text), 'e']).toEqual([text, ...wordsOf(`${text} é`)]);
    expect([text, ...plainWordsOf(text), 'e']).toEqual([text, ...plainWordsOf(`${text} é`)]);
  }
});

test('a long text is read whole', () => {
  expect(wordsOf('na '.repeat(100_000))).toHaveLength(100_000);
  expect(wordsOf('é'.repeat(300_000))).toEqual(['e'.repeat(300_000)]);
  expect(wordsOf('アa'.repeat(50_000))).toHaveLength(100_000);
  expect(wordsOf(`a${'\u0301'.repeat(300_000)}`)).toEqual(['a']);
  expect(wordsOf("'".repeat(300_000))).toEqual([]);
});

describe('of random text', () => {
  const random = makeRandom(1);
  const pieces = [
    ..."aZ9cC+#&éÉßøİıÆ ’'.-_™½²Ⅲアｱﾞー伝龍の한ᄒ𠮷𝐆🎮ЖЙΣςÞ\u0301\u3099\ud842\udfb7\u200d\ufeff٣क्षไทย",
    ...['ﬃ', 'ﷺ', '㍿', 'ǅ', 'ŉ', '\u0345', '\u1e9e', 'ΐ', '\u{1F1EF}\u{1F1F5}'],
  ];
  const texts = Array.from({ length: 3_000 }, () =>
    Array.from({ length: random.below(12) }, () => random.pick(pieces)).join(''),
  );

  test.each([
    ['words', wordsOf],
    ['plain words', plainWordsOf],
  ])('no word is empty or holds a separator, and a title of its %s has the same', (_, wordsOf) => {
    for (const text of texts) {
      const words = wordsOf(text);
      for (const word of words) {
        expect(word, JSON.stringify(text)).toMatch(/^(?:[\p{L}\p{N}\p{M}]+|c\+\+|c#)$/u);
        expect(word.isWellFormed()).toBe(true);
        expect(wordsOf(word), JSON.stringify(text)).toEqual([word]);
      }
      expect(wordsOf(words.join(' '))).toEqual(words);
    }
  });

  test('neither case nor composition matters', () => {
    for (const text of texts) {
      const words = wordsOf(text);
      for (const form of ['NFC', 'NFD'] as const) {
        expect(wordsOf(text.normalize(form)), JSON.stringify(text)).toEqual(words);
      }
      expect(wordsOf(text.toLowerCase()), JSON.stringify(text)).toEqual(words);
    }
  });
});

test('only words of scripts without spaces are joined', () => {
  for (const word of ['ドラゴン', 'の', '三国', '우주', 'ㄅㄆ', '𠮷', 'ー']) {
    expect(isScriptWithoutSpaces(word), word).toBe(true);
  }
  for (const word of ['dragon', 'ж', '2', 'ไทย', 'é', '𝐆'])
    expect(isScriptWithoutSpaces(word)).toBe(false);
});

test('near spellings count from four letters on, and never for numbers', () => {
  const distances = 'abc abcd abcdefg abcdefgh 2048 ٣٣٣٣ 2k10 xviii xviiii'.split(' ');
  expect(distances.map(nearSpellingDistance)).toEqual([0, 1, 1, 2, 0, 0, 1, 0, 1]);
  // A letter that is two UTF-16 code units counts once.
  const beyond = [
    '𠮷野屋',
    '𠮷野屋敷',
    '𠮷'.repeat(3),
    '𠮷'.repeat(4),
    '𠮷'.repeat(7),
    '𠮷'.repeat(8),
  ];
  expect(beyond.map(nearSpellingDistance)).toEqual([0, 1, 0, 1, 1, 2]);
  expect(foldCase('South KOREA É')).toBe('south korea é');
});

test('the rules as data give the same words', () => {
  const change = (text: string, rules: readonly (readonly string[])[]) =>
    rules.reduce((all, [from, to]) => all.replace(new RegExp(from, 'gu'), to), text);
  const { before, accents, letters, after, word } = WORD_RULES;
  const wordsByData = (text: string) => {
    const folded = change(change(text, before).normalize('NFKD'), [[accents, '']]).toLowerCase();
    const byLetter: Readonly<Record<string, string>> = letters;
    const spelled = folded.replace(/./gu, (letter) => byLetter[letter] ?? letter).normalize('NFC');
    return change(spelled, after).match(new RegExp(word, 'gu')) ?? [];
  };
  for (const text of [
    'Pokémon: Let’s Go! Ærøskøbing 3½ Tetris™',
    'C++ & C# ABC++ S.T.A.L.K.E.R. A.B.CD x.A.B',
    'ドラゴンクエストIII そして伝説へ ｶﾞ 三國志 2人 한글',
  ])
    expect(wordsByData(text)).toEqual(wordsOf(text));
});
