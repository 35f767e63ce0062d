/** The forms of titles: which titles are exact, the same, or neither. */
import { expect, test } from 'vitest';
import { exactFormsOf, haveSameWords, looseFormsOf, partsOf } from '#find/match/forms.ts';
import { externalIdKey, parseExternalId } from '#find/names/external-ids.ts';

/** The surest way in which two titles are equal. */
function compare(one: string, other: string, slug?: string): string {
  const [a, b] = [
    looseFormsOf(one),
    looseFormsOf(other, slug === undefined ? undefined : () => slug),
  ];
  const overlap = (texts: readonly string[], others: readonly string[]) =>
    texts.some((text) => others.includes(text));
  const exactOf = (title: string) => {
    const { exact, halves } = exactFormsOf(title);
    return [exact, ...halves];
  };
  if (overlap(exactOf(one), exactOf(other))) return 'exact';
  const haveSame = a.lists.some((list) => b.lists.some((words) => haveSameWords(list, words)));
  if (overlap(a.loose, b.loose) || haveSame) return 'same';
  return 'none';
}

test.each([
  ['pokemon snap', 'Pokémon Snap'],
  ['Legend of Zelda, The', 'The Legend of Zelda'],
  ['Legend of Zelda, The - Link Awakens', 'The Legend of Zelda: Link Awakens'],
  ['hunt for red october, the', 'The Hunt for Red October'],
  ['Aventures de Moktar, Les', 'Les Aventures de Moktar'],
  ['Ratchet & Clank', 'Ratchet and Clank'],
  ['Final Fantasy VII', 'Final Fantasy 7'],
  ['ＳＯＮＩＣ', 'Sonic'],
  ['Soul Calibur', 'SoulCalibur'],
  ['A.P.B.', 'APB'],
  ['LC03', 'L.C.03'],
  ['Yoshis Island', "Yoshi's Island"],
  ['Cars ~ Bils', 'Bils'],
])('%s is exactly %s', (one, other) => {
  expect([compare(one, other), compare(other, one)]).toEqual(['exact', 'exact']);
});

test.each([
  ['Jikkyou Baseball', 'Jikkyō Baseball'],
  ['Toki wo Kakeru', 'Toki o Kakeru'],
  ['Shimbun', 'Shinbun'],
  ['NHL 1994', "NHL '94"],
  ['Valis SD', 'SD Valis'],
  ["Disney's Aladdin", 'Aladdin'],
  ['Super Mario Brothers', 'Super Mario Bros.'],
  ['Second Samurai, The', 'Second Samurai'],
  ['Nintendogs plus Cats', 'Nintendogs + Cats'],
  ['Super Monaco Grand Prix', 'Super Monaco GP'],
  ['7-tsu no Hihou', 'Nanatsu no Hihou'],
  ['Lunar Cats SE 92', 'Lunar Cats - Special Edition 92'],
  ['Magical Drop', 'Magical Drop for WonderSwan'],
  ['Marble Madness', 'マーブル Marble Madness'],
  ['マーブル', 'マーブル Marble Madness'],
  ['Fifa 123', 'Fifa 1-2-3'],
  ['Lunar Cats X 4', 'Lunar Cats X4'],
  ['Night of Thousand Owls', 'Night of a Thousand Owls'],
  ['Lunar Cats X IV', 'Lunar Cats X4'],
  ['Lunar Cats 0', 'Lunar Cats Zero'],
  ['Katzen vom Mond', 'Lunar Cats (World) / Katzen vom Mond'],
  ['Lunar Cats', 'Lunar Cats (World) / Katzen vom Mond'],
  ['Lunar Cats', 'Lunar Cats Version'],
])('%s is the same as %s', (one, other) => {
  expect([compare(one, other), compare(other, one)]).toEqual(['same', 'same']);
});

test('the words of a slug stand for a title in another script, and only for such a title', () => {
  expect(compare('Dobutsu no Mori', 'どうぶつの森', 'dobutsu-no-mori')).toBe('same');
  expect(compare('Racer P.V', 'レーサー P.V', 'racer-p-v')).toBe('same');
  expect(compare('Tetris 2', 'Tetris', 'tetris-2')).toBe('none');
});

test('a title may have "Version" or "Edition" anywhere, a name only at its end', () => {
  expect(compare('Lunar Cats', 'Lunar Version Cats', 'lunar-version-cats')).toBe('same');
  expect(compare('Lunar Edition Cats', 'Lunar Version Cats', 'lunar-version-cats')).toBe('none');
  expect(compare('Lunar Edition', 'Lunar', 'lunar')).toBe('none');
});

test.each([
  ['Lunar Cats X 4', 'Lunar Cats X 5'],
  ['Lunar Cats XIV', 'Lunar Cats X 4'],
  ['X', 'Lunar Cats / X'],
  ['X', 'ルナX'],
  ['Mega Man 2', 'Mega Man 3'],
  ['Game 1 2', 'Game 13'],
  ['Tetris Plus', 'Tetris'],
  ['Lunar Cats A', 'Lunar Cats'],
  ['Doom', 'Quake'],
  ['Disney', 'Aladdin'],
])('%s and %s have nothing in common', (one, other) => {
  expect(compare(one, other)).toBe('none');
});

test('the parts of a title are what stands before and after each subtitle', () => {
  expect(partsOf("Disney's Tarzan: The Fawn - Part II")).toEqual({
    heads: ['tarzan', 'tarzanfawn'],
    tails: ['fawnpt2', 'pt2'],
  });
  for (const title of ['Bambi', 'Bambi - ', ' - Bambi', 'Bambi-Fawn'])
    expect(partsOf(title)).toEqual({ heads: [], tails: [] });
});

test('every text has forms, and the forms of a form are that form', () => {
  for (const text of ['', '!!!', '~', ' ~ ', ', The', '\ud800', '👾', 'the', 'A', '2000', 'II']) {
    const { exact } = exactFormsOf(text);
    expect(exactFormsOf(exact).exact).toBe(exact);
    expect(looseFormsOf(text).loose).not.toContain('');
  }
});

test('ids of other sources have one spelling', () => {
  expect(externalIdKey('Serial', ' slus_208.51 ')).toBe('serial:SLUS-20851');
  expect(externalIdKey('serial', 'BLUS30636')).toBe('serial:BLUS-30636');
  expect(externalIdKey('serial', 'SLES-12345/ANZ')).toBe('serial:SLES-12345');
  expect(externalIdKey('serial', 'JP0425-NPJH50276_00-0001000200030004')).toBe('serial:NPJH-50276');
  expect(externalIdKey('sha1', 'ABCDEF')).toBe('sha1:abcdef');
  expect(externalIdKey('mame', 'sf2')).toBe('mame:sf2');
  expect(parseExternalId('igdb:1022')).toEqual({ source: 'igdb', value: '1022' });
  for (const text of ['1022', 'igdb:', ':1', 'a b:1'])
    expect(parseExternalId(text)).toBeUndefined();
});
