/** Reading file names: titles, regions, discs and serials, by the rules of each kind of collection. */
import { describe, expect, test } from 'vitest';
import { makeRandom } from '#demo/catalogue/random.ts';
import { readName } from '#find/match/read-name.ts';
import { EXTENSIONS, LANGUAGES, WORDS } from '#find/match/tags.ts';

const NAMES: Readonly<Record<string, readonly [name: string, title: string, regions?: string][]>> =
  {
    'No-Intro': [
      ['Tetris (World) (Rev 1).gb', 'Tetris', 'World'],
      ['Legend of Zelda, The (USA, Europe).nes', 'Legend of Zelda, The', 'USA,Europe'],
      ['Okami Den (Europe) (En,Fr,De,Es,It).nds', 'Okami Den', 'Europe'],
      ['Star Fox 2 (USA) (SNES Classic Mini).sfc', 'Star Fox 2', 'USA'],
      ['Wario Land 3 (Korea) (Proto) (1999-12-24).gbc', 'Wario Land 3', 'South Korea'],
      ['Kirby (Germany).zip', 'Kirby', 'Germany'],
      ['Mother (Japan) (Ja).fds', 'Mother', 'Japan'],
    ],
    Redump: [
      ['Shenmue (Europe) (Disc 2).chd', 'Shenmue', 'Europe'],
      ['Ridge Racer (Japan) (Taikenban) (v1.1).cue', 'Ridge Racer', 'Japan'],
      ['Riven (France) (Disc E).iso', 'Riven', 'France'],
    ],
    TOSEC: [
      ['Elite (1985)(Firebird)(GB)[a2].dsk', 'Elite (1985)(Firebird)', 'United Kingdom'],
      [
        'Turrican (1990)(Rainbow Arts)(EU-US)(en)(Disk 1 of 2).adf',
        'Turrican (1990)(Rainbow Arts)',
        'Europe,USA',
      ],
      ['Ys (19xx)(-)(de)[cr].d88', 'Ys', ''],
    ],
    GoodTools: [
      ['Sonic (JUE) [!].gen', 'Sonic', 'Japan,USA,Europe'],
      ['Zool (U) [b1].smc', 'Zool', 'USA'],
      ['Gley Lancer (J) [T+Eng1.0_MIJET].bin', 'Gley Lancer', 'Japan'],
      ['Psycho Fox (UEB) (REV01) [h1].sms', 'Psycho Fox', 'USA,Europe,Brazil'],
      ['Street Racer (E) (M5) [f1].gb', 'Street Racer', 'Europe'],
    ],
    'MAME and its software lists': [
      ['Galaga (Namco rev. B).zip', 'Galaga', ''],
      ['Zaxxon (set 1).zip', 'Zaxxon', ''],
      ['Shinobi (Euro, Bra).7z', 'Shinobi', 'Europe,Brazil'],
      ['Klax (Jpn, Prototype).zip', 'Klax', 'Japan'],
    ],
    scene: [
      ['Okami.HD.JPN.READNFO.PS2-Caravan.iso', 'Okami HD', 'Japan'],
      ['Ever_Oasis_EUR_MULTi5_3DS-PUSSYCAT.3ds', 'Ever Oasis', 'Europe'],
      ['Culdcept_Revolt_v1.1_3DS-VENOM.zip', 'Culdcept Revolt', 'USA'],
      ['Smash_Cards_for_Nintendo_3DS_JPN_3DS-HR.3ds', 'Smash Cards for Nintendo 3DS', 'Japan'],
      ['Puzzle.World.USA.3DS.INTERNAL.BigBlueBox.3ds', 'Puzzle World', 'USA'],
      ['Tour_of_Japan-EUR_3DS-LGC.3ds', 'Tour of Japan', 'Europe'],
      ['Lunar.Cats.EUR.Disc2.DC-GRP.cdi', 'Lunar Cats', 'Europe'],
      ['Lunar.Cats.PAL.DVD1.PS2-GRP.iso', 'Lunar Cats', 'Europe'],
    ],
    'WHDLoad and PSN': [
      ['LunarCats2_v1.10_0815.lha', 'LunarCats2', ''],
      ['LunarCats_v1.2a_AGA.lha', 'LunarCats', ''],
      ['LunarCats_v1.0&Fix.slave', 'LunarCats', ''],
      // A title may look like an id.
      ['00040000000ABCDE (USA) [!].zip', '00040000000ABCDE', 'USA'],
      ['EP1234-BLES01234_00-LUNARCATS2000000-A0101-V0100.pkg', 'LUNARCATS2', ''],
    ],
    'brackets and copies': [
      ['Okami Den (Europe) (USA).nds', 'Okami Den', 'Europe,USA'],
      ['Okami Den [USA, Korea].nds', 'Okami Den', 'USA,South Korea'],
      ['[PAL] Okami Den.nds', '[PAL] Okami Den', 'Europe'],
      ['Okami Den [U] [a].nds', 'Okami Den', 'USA'],
      ['Okami Den (USA) (1).nds', 'Okami Den', 'USA'],
      ['Okami Den (1).nds', 'Okami Den', ''],
    ],
    'paths, percent-encoding and unknown extensions': [
      ['D:\\Games\\nds\\Okami Den (E).nds', 'Okami Den', 'Europe'],
      ['D:\\Okami Den\\', 'Okami Den', ''],
      ['Okami%20Den%20%28USA%29.nds', 'Okami Den', 'USA'],
      ['Okami %2G %E9.nds', 'Okami %2G %E9', ''],
      ['S.C.U.M.O.zip', 'S C U M O', ''],
    ],
    messy: [
      ['super_metroid.sfc', 'super metroid', ''],
      ['Mega.Man.X.zip', 'Mega Man X', ''],
      ['Half-Life.iso', 'Half-Life', ''],
      ['Elebits (DVD5).iso', 'Elebits', ''],
      ['1942 - Pacific.nes', '1942 - Pacific', ''],
      ['Doom.zip.zip', 'Doom', ''],
      ['Tetris (USA', 'Tetris (USA', ''],
      ['(Japan).zip', '(Japan)', 'Japan'],
      ['ゼルダの伝説.sfc', 'ゼルダの伝説', 'Japan'],
      ['SLUS_208.51.Okage - Shadow King.iso', 'Okage - Shadow King', ''],
    ],
  };

describe.each(Object.entries(NAMES))('%s', (_, names) => {
  test.each(names)('%s', (name, title, regions = '') => {
    const found = readName(name);
    expect([found.title, found.regions.join(',')]).toEqual([title, regions]);
  });
});

test.each([
  ['Ys (Disk 4 of 4)[a].dim', '4'],
  ['Ys (Disk 2 Side A).dsk', '2'],
  ['Riven (Disc E).iso', 'E'],
  ['Grandia CD2.bin', '2'],
  ['Compact Disc Story.iso', null],
  ['Ys [Disc2of3].iso', '2'],
  ['Ys.Disc.2.iso', '2'],
  ['ys_cd_1.iso', '1'],
  ['Lunar.Cats.PAL.DVD2.PS2-GRP', '2'],
  ['Lunar.Cats.PAL.DVD5.PS2-GRP', null],
  ['Lunar Cats (DVD9).iso', null],
  ['Lunar Cats (DVD-5).iso', null],
  ['Lunar Cats (DVD 5).iso', '5'],
  ['Lunar Cats (DVD5of6).iso', '5'],
  ['Side Bets.iso', null],
])('the disc of %s is %s', (name, disc) => {
  expect(readName(name).disc).toBe(disc);
});

test.each([
  ['SLUS_208.51.Okage.iso', 'SLUS-20851'],
  ['SLPS-01234 Ridge Racer.bin', 'SLPS-01234'],
  ['Okage [SLUS-20851].iso', 'SLUS-20851'],
  ['ULJM05269.iso', 'ULJM-05269'],
  ['EP1234-BLES01234_00-LUNARCATS2000000.pkg', 'BLES-01234'],
  ['NPUB12 Racing.iso', null],
  ['MOON 12345678.iso', null],
])('the serial in %s is %s', (name, serial) => {
  expect(readName(name).serial).toBe(serial);
});

test('titles that may be meant come in turn: tags, brackets, the first bracket, and other titles', () => {
  expect(readName('Octopus (AKA Sea Hunt) Deluxe (1983) (Carrere).a26').titles).toEqual([
    'Octopus (AKA Sea Hunt) Deluxe (1983) (Carrere)',
    'Octopus Deluxe',
    'Octopus',
    'Sea Hunt',
  ]);
  expect(readName('Полёт (Lunar Cats) (RUS).nes').titles).toEqual([
    'Полёт (Lunar Cats)',
    'Полёт',
    'Lunar Cats',
  ]);
  expect(readName('Cars aka Bils.gba').titles).toEqual(['Cars aka Bils', 'Cars', 'Bils']);
  expect(readName('Cars ~ Bils (Europe).gba').titles).toEqual(['Cars ~ Bils', 'Cars', 'Bils']);
});

test.each([
  ...['SLES_501.13.iso', 'SLES-50113_1.iso', 'SLUS-20851 (Disc 2).bin', 'BLUS30109', 'ULUS_103.36'],
  ...['SLES_501', '0100000000010000', '4D5307E6.iso'],
])('%s, which is only a code, has no title', (name) => {
  expect(readName(name).titles).toEqual([]);
});

describe('any text', () => {
  const random = makeRandom(30);
  const PIECES = [
    ...'(|)|[|]|{|.|_| |-|~|, The| - |(USA)|[!]|.zip|/|SLUS_208.51.|0123 - |3DS-GRP|v1.0'.split(
      '|',
    ),
    ...'Disc 2|é|ポケ|𠮷|\ud800|\u0301|1999|(AKA |by |a|Zelda|II|\0|العربية|ไทย|한국어|Ω|👾'.split(
      '|',
    ),
  ];
  const anyName = () =>
    Array.from({ length: 1 + random.below(12) }, () => random.pick(PIECES))
      .join('')
      .slice(0, 255);

  test('is read, and its title reads as itself', () => {
    for (let round = 0; round < 5_000; round++) {
      const name = anyName();
      const { title, titles } = readName(name);
      expect(readName(title).title, JSON.stringify(name)).toBe(title);
      if (titles.length > 0) expect(titles[0]).toBe(title);
      expect(titles.length).toBeLessThan(30);
    }
  });

  test.each([...'(|[|()|[!]|.|_|.zip|~| - |(AKA |0123 - |SLUS_208.51.|\u0301|, '.split('|')])(
    'of 255 characters of %j is read',
    (piece) => {
      const name = piece.repeat(255).slice(0, 255);
      const { title } = readName(name);
      expect(readName(title).title).toBe(title);
    },
  );
});

test('no tag of the tables changes the title', () => {
  const tags = [
    ...[...LANGUAGES].map((code) => `(${code[0].toUpperCase()}${code.slice(1)})`),
    ...'(USA)|(Japan, Europe)|(J)|(UE)|(JP)|(Jpn)|(M3)|(Rev 2)|(v1.0)|(Beta)|(Disc 2)'.split('|'),
    ...'(Disk 1 of 3)|(1999)|(1999-12-24)|[!]|[b1]|[T+Fre]|(Unl)|(PD)'.split('|'),
  ];
  for (const tag of tags) {
    expect(readName(`Okami Den ${tag}.zip`).title, tag).toBe('Okami Den');
    expect(readName(`Okami Den (Europe) ${tag}.zip`).title, tag).toBe('Okami Den');
  }
  for (const extension of EXTENSIONS)
    expect(readName(`Okami Den.${extension}`).title).toBe('Okami Den');
  for (const word of WORDS.anywhere.union(WORDS.scene))
    expect(readName(`Okami.Den.${word}.PS2-GRP.iso`).title, word).toBe('Okami Den');
});
