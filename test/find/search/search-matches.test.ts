/**
 * Which titles a query matches as it stands, on examples made by hand. Each rule has examples of what it finds, and of what it does not.
 */
import { describe, expect, test } from 'vitest';
import { found, searchOf } from './made-search.ts';

const RULES: readonly [rule: string, found: [string, string][], notFound: [string, string][]][] = [
  [
    'every word of the query, in any order, is a word of the title',
    [
      ['trigger chrono', 'Chrono Trigger'],
      ['CHRONO', 'Chrono Trigger'],
      ['chrono chrono trigger', 'Chrono Trigger'],
      ['assassins creed', 'Assassin’s Creed'],
      ['pokemon', 'Pokémon Snap'],
      ['ｃｈｒｏｎｏ　ｔｒｉｇｇｅｒ', 'Chrono Trigger'],
    ],
    [['chrono cross', 'Chrono Trigger']],
  ],
  [
    'numerals from 2 to 30 are equal',
    [
      ['final fantasy 7', 'Final Fantasy VII'],
      ['resident evil iv', 'Resident Evil 4'],
      ['rocky v', 'Rocky 5'],
      ['mega man x game', 'Mega Man 10: The Game'],
      ['xx', '20'],
      ['xxi game', '21: The Game'],
      ['game 29', 'Game XXIX'],
      ['game xxx', 'Game 30'],
      ['2 game', 'II: The Game'],
    ],
    [
      ['i game', '1: The Game'],
      ['xxxi game', '31: The Game'],
      ['vi game', 'V: The Game'],
      ['02 game', 'II: The Game'],
    ],
  ],
  [
    'neighbours never make a numeral together',
    [
      ['sword i & ii', 'Sword I & II'],
      ['sword i & ii', 'Sword I + II'],
      ['sword i and ii', 'Sword I + II'],
      ['mega man x 4', 'Mega Man X4'],
      ['mega man x iv', 'Mega Man X4'],
      ['sword 1 & 2', 'Sword I & II'],
      ['sword 1 and 2', 'Sword I & II'],
      ['10000 blades', '10,000 Blades'],
    ],
    [
      ['sword i & ii', 'Sword III'],
      ['sword i & ii', 'Sword IIIrd'],
      ['sword iii', 'Sword I & II'],
      ['sword 1 & 2', 'Sword XII'],
      ['sword 12', 'Sword 1 & 2'],
      ['sword x v', 'Sword XV'],
    ],
  ],
  [
    'two digits after a title are a year',
    [
      ['rally 94', "Rally '94"],
      ['rally 1994', "Rally '94"],
      ['rally 94', 'Rally 1994 World Tour'],
      ['rally 04', 'Rally 2004'],
      ['rally 2004', 'Rally 04'],
      ['rally94', 'Rally 1994 World Tour'],
      ['rally 2012', 'Rally 12'],
      ['1994 rally', "Rally '94"],
      ['94 rally', 'Rally 1994'],
    ],
    [
      ['rally 95', "Rally '94"],
      ['rally 2004', 'Rally 4'],
      ['rally 2012', 'Rally XII'],
      // Not what the query begins with.
      ['42', '1942 Skies'],
      ['1942', '42 Skies'],
    ],
  ],
  [
    'forms of a kanji are equal',
    [
      ['三国志', '三國志'],
      ['三國志', '三国志II'],
      ['国志', '三國志'],
      ['竜', '龍の城'],
      ['龍の城', '竜の城'],
      ['龙', '龍の城'],
      ['大戦', '大戰'],
      ['沢', '澤の森'],
      ['軽い蛍', '輕い螢'],
      ['叱る', '𠮟る'],
    ],
    [['三国氏', '三國志']],
  ],
  [
    'short forms are equal',
    [
      ['super mario brothers', 'Super Mario Bros.'],
      ['bros mario', 'Mario Brothers'],
      ['versus game', 'Vs. Game'],
      ['doctor mario', 'Dr. Mario'],
      ['mr do', 'Mister Do'],
      ['saint seiya', 'St. Seiya'],
      ['vol 2 game', 'Game Volume II'],
      ['pt game', 'Part of the Game'],
      ['junior sr game', 'Jr. Senior Game'],
      ['mt ver ed game', 'Mount Version Edition Game'],
      ['ep intl game', 'Episode International Game'],
      ['1st second 3rd game', 'First 2nd Third Game'],
      ['rock n roll', 'Rock and Roll'],
      ['rock n roll', 'Rock & Roll'],
      ['rock and roll', "Rock 'n' Roll"],
    ],
    [
      ['brother game', 'Bros. Game'],
      ['1 game', 'First Game'],
    ],
  ],
  [
    'long vowels of romanised Japanese are equal',
    [
      ['jikkyou game', 'Jikkyō Game'],
      ['jikkyoo game', 'Jikkyō Game'],
      ['jikkyō game', 'Jikkyou Game'],
      ['jikkyō game', 'Jikkyoo Game'],
      ['JIKKYOO game', 'Jikkyou Game'],
      ['jikkyo game', 'Jikkyō Game'],
      ['tookyou game', 'Toukyoo Game'],
      ['yuusha game', 'Yūsha Game'],
      ['yu\u0304sha game', 'Yuusha Game'],
      ['oukami game', 'Ookami Game'],
      ['dai toukyoo game', 'Daitoukyou Game'],
      ['kessen suu moo', 'Kessen Sū Mō'],
      ['kessen suu mou', 'Kessen Sū Mō'],
      ['kessen su moo', 'Kessen Sū Mō'],
      ['kessen sū mo', 'Kessen Sū Mō'],
      ['shoogaku', 'Shougakusei'],
      ['shoogakus', 'Shōgakusei no Game'],
    ],
    [
      ['jikkyo game', 'Jikkyou Game'],
      ['yusha game', 'Yuusha Game'],
      ['schoul game', 'School Game'],
      ['bouk game', 'Book Game'],
      ['sool game', 'Soul Game'],
      ['yoo game', 'You Game'],
      // A prefix of one syllable is more likely that of an English word.
      ['hoo', 'House'],
      ['mouse game', 'Moose Game'],
      ['zou game', 'Zoo Game'],
    ],
  ],
  [
    'the last word can be the beginning of a word',
    [
      ['chrono tri', 'Chrono Trigger'],
      ['c', 'Chrono Trigger'],
    ],
    [
      ['chro trigger', 'Chrono Trigger'],
      ['rigger', 'Chrono Trigger'],
      // What equals the last word is not taken as a beginning.
      ['super 7', 'Super VIII'],
      ['dr', 'Doctors'],
    ],
  ],
  [
    'two characters of a script without spaces are a part of a word',
    [
      ['クエ', 'ドラゴンクエスト'],
      ['クエ ドラ', 'ドラゴンクエスト'],
      ['伝説', 'ゼルダの伝説'],
      ['주전', '우주전설'],
    ],
    [
      ['ク game', 'ドラゴンクエスト Game'],
      // One character, though UTF-16 has two units for it.
      ['𠮷 game', '野𠮷 Game'],
      ['rig game', 'Trigger Game'],
    ],
  ],
  [
    'hiragana and katakana are equal',
    [
      ['どらごん', 'ドラゴン'],
      ['ドウブツ', 'どうぶつの森'],
      ['スヾメ', 'すゞめ'],
      ['ﾄﾞﾗｺﾞﾝ', 'どらごん'],
    ],
    [['とらこん', 'ドラゴン']],
  ],
  [
    'a word is two or three neighbouring words of the title',
    [
      ['starfox', 'Star Fox'],
      ['nhl94', "NHL '94"],
      ['supermetroidprime', 'Super Metroid Prime'],
      ['finalfantasy7', 'Final Fantasy VII'],
      ['finalfantasyvii', 'Final Fantasy 7'],
      ['drmario', 'Doctor Mario'],
      ['foxstar game', 'Fox Star Fox Game'],
    ],
    [
      ['foxstar', 'Star Fox'],
      ['staradventurefox', 'Star Fox Adventure'],
      ['starfox', 'Star and Fox'],
      ['thelegendofzelda', 'The Legend of Zelda'],
      // Not the beginning of such words.
      ['starfo', 'Star Fox'],
    ],
  ],
  [
    'two or three neighbouring words are a word of the title',
    [
      ['golden eye', 'GoldenEye 007'],
      ['mother 3', 'MOTHER3'],
      ['mother iii', 'MOTHER3'],
      ['mother 3', 'MotherIII'],
      ['star craft game', 'StarCraft: The Game'],
      ['go l den', 'Golden'],
      ['golden e', 'GoldenEye'],
      ['star mega man', 'Megaman Star'],
    ],
    [
      ['eye golden', 'GoldenEye'],
      ['go l d en', 'Golden'],
      ['golden e 007', 'GoldenEye 007'],
      // Not a beginning of what they equal.
      ['mother 3', 'MotherIIIrd'],
      ['golden fast eye', 'GoldenEye'],
    ],
  ],
  [
    '"&" is a word',
    [
      ['sonic and knuckles', 'Sonic & Knuckles'],
      ['sonic & knuckles', 'Sonic and Knuckles'],
      ['sonic＆knuckles', 'Sonic and Knuckles'],
      ['q and a', 'Q&A'],
      // A title and a query may lack it.
      ['sonic knuckles', 'Sonic & Knuckles'],
      ['sonic & knuckles', 'Sonic Knuckles'],
      ['sonic AND knuckles', 'Sonic Knuckles'],
      ['&', 'Beauty and the Beast'],
    ],
    [
      ['&', 'Sonic Knuckles'],
      ['and', 'Sonic Knuckles'],
      ['sonic andy knuckles', 'Sonic Knuckles'],
    ],
  ],
  [
    'initials are a word',
    [
      ['stalker', 'S.T.A.L.K.E.R.: Clear Sky'],
      ['rc pro am', 'R.C. Pro-Am'],
      ['iq', 'I.Q.: Intelligent Qube'],
      ['i.q', 'IQ Final'],
      ['r c pro am', 'R.C. Pro-Am'],
      ['s t a l k e r', 'S.T.A.L.K.E.R.'],
      ['s.t.a.l', 'Stalker'],
    ],
    [
      ['stalkers game', 'S.T.A.L.K.E.R. Game'],
      ['alker game', 'S.T.A.L.K.E.R. Game'],
    ],
  ],
  [
    'C++ and C# are words',
    [
      ['c++', 'C++ Adventures'],
      ['c#', 'C# Major'],
      ['c++ adventures', 'C++ Adventures'],
      ['c', 'C++ Adventures'],
    ],
    [
      ['c++', 'C Adventures'],
      ['c adventures', 'C++ Adventures'],
      ['d++ major', 'C++ Major'],
    ],
  ],
  [
    'a title with letters of another script, or without letters, has the words of its slug',
    [
      ['game 0', 'どうぶつの森'],
      ['game 0', 'どうぶつの森 e+'],
      ['game 0', 'Метель II'],
      ['game 0', '1942'],
      ['game 0', '!!!'],
    ],
    [
      ['game 0', 'Ｏｋａｍｉ É'],
      // Never words of the title together with words of the slug.
      ['game どうぶつ', 'どうぶつの森'],
    ],
  ],
];

// The titles of each rule are on a platform of their own, with "game 0" among the words of their slugs.
const platformOf = (rule: string) => `rule-${RULES.findIndex(([name]) => name === rule)}`;
const games = RULES.flatMap(([rule, ...pairs]) => {
  const titles = new Set(pairs.flat().map(([, title]) => title));
  return [...titles].map((title, i) => ({
    title,
    slug: `game-0-${i}`,
    platform: platformOf(rule),
  }));
});
const rules = await searchOf(...games);

describe.each(RULES)('%s', (rule, foundPairs, notFoundPairs) => {
  const isExact = (q: string, title: string) => {
    const { step, hits } = rules.search({ q, platform: platformOf(rule) });
    return step === 'exact' && hits.some((game) => game.title === title);
  };

  test.each(foundPairs)('%s finds %s', (q, title) => {
    expect(isExact(q, title)).toBe(true);
  });
  test.each(notFoundPairs)('%s does not find %s', (q, title) => {
    expect(isExact(q, title)).toBe(false);
  });
});

test('a part of a word is found, however long folding makes it', async () => {
  // Folding writes each ㌀ as アパート. Of the 120 characters, the index has the first 100.
  const search = await searchOf(`ザ${'アパート'.repeat(40)}`);
  expect(found(search, '㌀'.repeat(30))).toHaveLength(2);
  expect(found(search, `${'㌀'.repeat(20)}パ`)).toEqual([undefined]);
});

test('so many near spellings count for a query, however many there are', async () => {
  const letters = [...'jklmnopqrstuvwxyz'];
  // Two letters differ.
  const near = letters.flatMap((one) => letters.map((other) => `${one}${other}`));
  const places = [0, 2, 4, 6].map(
    (at) => (two: string) => `abcdefgh`.slice(0, at) + two + 'abcdefgh'.slice(at + 2),
  );
  const search = await searchOf(...places.flatMap((at) => near.map(at)));
  const { step, hits } = search.search({ q: 'abcdefgh' });
  expect([step, hits.length]).toEqual(['near', 1_000]);
});

test('only the first eight words count', async () => {
  const search = await searchOf('a b c d e f g hours');
  expect(found(search, 'a b c d e f g h')[0]).toBe('exact');
  // The eighth word is the last one, so it can be a beginning.
  expect(found(search, 'a b c d e f g h nothing else')[0]).toBe('exact');
  expect(found(search, 'a b c d e f g x')[0]).toBe('partial');
});

test('a query that is not blank but has no word finds nothing; a blank one is no query', async () => {
  const search = await searchOf('Chrono Trigger', '!!!');
  expect(found(search, '!!!')).toEqual([undefined]);
  expect(found(search, ' \u3000')).toEqual([undefined, '!!!', 'Chrono Trigger']);
  expect(found(search, '')).toEqual([undefined, '!!!', 'Chrono Trigger']);
});

test('each alternative title is a title of its own', async () => {
  const search = await searchOf({
    title: 'Resident Evil',
    others: ['Biohazard & Friends', 'バイオハザード', '!!!'],
  });
  for (const q of ['biohazard', 'biohazard and friends', 'biohazardfriends', 'ハザード', 'evil']) {
    expect(found(search, q)).toEqual(['exact', 'Resident Evil']);
  }
  expect(found(search, 'resident biohazard')[0]).toBe('partial');
});

test('what a query finds does not depend on the queries before it', async () => {
  // So many that they are kept as bits, whose memory each query uses again.
  const titles = Array.from({ length: 4_200 }, (_, i) => (i % 2 === 0 ? 'Of the' : 'In a'));
  const search = await searchOf(...titles);
  const distinct = (q: string) => new Set(search.search({ q }).hits.map(({ title }) => title));
  for (const q of ['ofthe', 'ina', 'ofthe']) {
    expect(distinct(q)).toEqual(new Set([q === 'ina' ? 'In a' : 'Of the']));
  }
});
