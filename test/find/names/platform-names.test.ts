/** Which platforms a name means: names of the catalogue, and those of the table. */
import { describe, expect, test } from 'vitest';
import { makePlatformNames } from '#find/names/platform-names.ts';
import { PLATFORM_ROWS } from '#find/names/platform-table.ts';

/** @param platforms the slug and the name of each */
function namesOf(platforms: Readonly<Record<string, string>>) {
  const entries = Object.entries(platforms).map(([slug, name]) => ({ slug, name }));
  const names = makePlatformNames(entries);
  const slugsOf = (numbers: readonly number[]) => numbers.map((number) => entries[number].slug);
  return { ...names, slugs: (text: string) => slugsOf(names.find(text)), entries };
}

const names = namesOf({
  snes: 'Super Nintendo Entertainment System',
  'jp-super-famicom': 'スーパーファミコン',
  'sega-md': 'Sega - Mega Drive / Genesis',
  'commodore-264': 'Commodore Plus/4',
  g7000: 'Odyssey2',
  g7400: 'Videopac+',
  fbneo: 'FBNeo - Arcade Games',
  mame: 'MAME',
  pc: 'PC (DOS and Windows)',
  ps3: 'PlayStation 3',
  'ps3-psn': 'PlayStation 3 (PSN)',
  loopy: 'Casio - Loopy',
  own: 'Homebrew Console',
  '...': '!!!',
  a5200: 'Atari 5200',
});

describe('a name', () => {
  test.each([
    // Slugs, in any case, mean only their own platform.
    ['SNES', 'snes'],
    ['ps3', 'ps3'],
    // Short names, folders, names of makers and of databases.
    ['Super NES', 'snes jp-super-famicom'],
    ['sfc', 'snes jp-super-famicom'],
    ['Nintendo - Super Nintendo Entertainment System', 'snes jp-super-famicom'],
    ['Super Nintendo Entertainment System (Headered)', 'snes jp-super-famicom'],
    ['スーパーファミコン', 'snes jp-super-famicom'],
    ['megadrivejp', 'sega-md'],
    ['sega_genesis', 'sega-md'],
    ['Genesis/Mega Drive', 'sega-md'],
    ['Commodore - Plus-4', 'commodore-264'],
    ['plus4', 'commodore-264'],
    ['Videopac', 'g7000'],
    ['videopac-g7400', 'g7000 g7400'],
    ['Philips - Videopac+', 'g7400'],
    ['videopacplus', 'g7400'],
    ['casio loopy', 'loopy'],
    // Several.
    ['PlayStation 3', 'ps3 ps3-psn'],
    ['arcade', 'fbneo mame'],
    ['MAME2003-Plus', 'mame'],
    ['finalburn neo', 'fbneo'],
    ['dos', 'pc'],
    ['Microsoft Windows', 'pc'],
    ['atari8bit', 'a5200'],
    // Of the catalogue only.
    ['homebrew-console', 'own'],
    // Similar is not the same; a part of a name is none.
    ['4', ''],
    ['Sega', ''],
    ['Commodore 16', ''],
    ['ps2', ''],
    ['Neo Geo', ''],
    ['!?', ''],
    ['', ''],
  ])('%j means %j', (text, slugs) => {
    expect(names.slugs(text).join(' ')).toBe(slugs);
  });

  test('is what it was as a slug, an id or an alias, and never more than 8 platforms', () => {
    const many = Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`n64-${at}`, 'N64']));
    expect(namesOf(many).slugs('Nintendo 64')).toHaveLength(8);
    const aliases = names.aliases();
    for (const [number, { slug }] of names.entries.entries()) {
      expect(aliases[number]).toEqual(aliases[number].toSorted());
      for (const alias of aliases[number]) expect(names.slugs(alias), alias).toContain(slug);
    }
    expect(aliases[1]).toEqual(expect.arrayContaining(['SFC', 'Super Nintendo']));
    // It is the slug of another platform.
    expect(aliases[1]).not.toContain('SNES');
  });
});

test('the nearest slugs are those of the platforms with the most similar names', () => {
  expect(names.nearest('supernintedo')[0]).toBe('snes');
  expect(names.nearest('Playstaton 3').slice(0, 2).sort()).toEqual(['ps3', 'ps3-psn']);
  expect(names.nearest('x'.repeat(9_000))).toHaveLength(3);
  expect(namesOf({ nes: 'NES' }).nearest('')).toEqual(['nes']);
});

test('a query names platforms with the same names', () => {
  expect(names.runsIn(['doom', 'sega', 'genesis'])[0]).toEqual({
    platforms: [2],
    rest: ['doom'],
    isAtEnd: true,
  });
  expect(names.runsIn(['zelda', 'snes'])).toEqual([
    { platforms: [0], rest: ['zelda'], isAtEnd: true },
  ]);
  expect([names.isName('sfc'), names.isName('zelda')]).toEqual([true, false]);
});

test('each row of the table has names, and none is an everyday word', () => {
  for (const { names } of PLATFORM_ROWS) {
    expect(names.join()).toMatch(/[^,]/);
    for (const name of names) expect(name).not.toMatch(/^(?:\d|to|mo|i|a|the|of|and|game|.?)$/i);
  }
});
