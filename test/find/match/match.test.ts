/** `GET /match` on a small catalogue: kinds, ambiguity, candidates, covers by region, ids, and errors. */
import { describe, expect, test } from 'vitest';
import type { Catalogue } from '#demo/catalogue/load.ts';
import type { Row } from '#lib/database/database.ts';
import { makeSnapshots } from '#test/catalogue/snapshots.ts';
import { checkContract } from '#test/support/openapi.ts';
import { NEVER, startProxy, testKey } from '#test/support/product.ts';

const SNES = 1;
const PS2 = 2;
/** For each game, its platform, title, and the regions of its front covers, or `back`. */
const GAMES: readonly [platform: number, title: string, fronts?: string][] = [
  [SNES, 'Super Metroid', 'USA Europe Japan'],
  [SNES, 'The Legend of Zelda: A Link to the Past', 'USA'],
  [SNES, 'Mega Man X', 'USA'],
  [SNES, 'Mega Man X2'],
  [SNES, 'Revolution X: Music Is the Weapon', 'USA'],
  [SNES, 'Contra III: The Alien Wars', 'USA'],
  [SNES, 'どうぶつの森', 'Japan'],
  [SNES, 'Aladdin', 'back'],
  // Three games of one title: without a front, in Europe, in Japan.
  [SNES, 'Tetris'],
  [SNES, 'TETRIS', 'Europe'],
  [SNES, 'Tetris!', 'Japan'],
  // Two titles that are only loosely one.
  [SNES, 'Jikkyou Baseball', 'Japan'],
  [SNES, 'Jikkyō Baseball', 'Japan'],
  [SNES, 'Video Checkers ~ Checkers', 'USA'],
  [SNES, 'Checkers'],
  [PS2, 'Okage: Shadow King', 'USA'],
  [PS2, 'Super Metroid', 'Europe'],
  [PS2, 'Kingdom Hearts Final Mix', 'Japan'],
  [PS2, 'Phantasy Star II', 'USA'],
  [PS2, 'Phantasy Star II - Numan Revolution', 'Japan'],
  [PS2, 'The Legend of Zelda: Mujura no Kamen', 'Japan'],
  [PS2, 'Sanrio World: Sanrio Shanghai', 'Japan'],
  [PS2, 'Agent U.S.A.'],
  [PS2, 'Agent'],
  [PS2, 'Agent (Demo)'],
  [PS2, 'Rune Factory: Special Edition'],
  [PS2, 'Harvest Moon: Special Edition'],
  // From here on, what names leave out or add.
  [SNES, 'Moon Cats: The Silver Crater', 'USA'],
  [SNES, 'Tower Cats 3 & Friends: The Challenges', 'USA'],
  [SNES, 'Ember Version', 'USA'],
  [SNES, 'Plum Red Version', 'USA'],
  [SNES, 'N.O.V.A.', 'USA'],
  [SNES, 'Owl Hunt / Fukurou Gari', 'USA'],
  [SNES, 'Comet II: Way Home', 'USA'],
  [SNES, 'Comet Kart', 'USA'],
  [SNES, 'Twin Peaks', 'USA'],
  [SNES, 'Twin Peaks!', 'Japan'],
  [PS2, 'Glass Harbor: The Long Night'],
  [PS2, 'Super Metroid Saga: Exile'],
  [SNES, 'Super Metroid Saga'],
  [PS2, 'Party Box Vol. 7: Bowling Night'],
  [PS2, 'Robo Quest 2: Iron Dawn'],
  [PS2, 'Robo Quest 2: Iron Dawn: Map Pack'],
  [PS2, 'Harbor Golf 2 featuring Pip'],
  [SNES, '1942'],
  [SNES, 'Grim'],
  [SNES, 'Drum Duel: Drum Night'],
  [SNES, '.orbit//Eclipse', 'USA'],
  // The same title in two spellings, for two regions.
  [SNES, 'Raven Bros.', 'Japan'],
  [SNES, 'Raven Brothers', 'USA'],
];
const RELEASE_YEARS: Readonly<Record<string, number>> = { Grim: 1993 };

function makeCatalogue(): Catalogue {
  const covers: Row[] = [];
  const games = GAMES.map(([platform, title, fronts = ''], at): Row => {
    for (const region of fronts.split(' ').filter(Boolean)) {
      const isBack = region === 'back';
      const cover = [isBack ? 'USA' : region, isBack ? 'back' : 'front', 'approved', null];
      covers.push([100 + covers.length, at + 1, ...cover]);
    }
    const slug = title === 'どうぶつの森' ? 'doubutsu-no-mori' : `game-${at + 1}`;
    const companies = title === 'Grim' ? ['Ivy Works, Inc.', 'Owl House'] : [null, null];
    return [at + 1, platform, slug, title, RELEASE_YEARS[title] ?? null, null, null, ...companies];
  });
  return {
    platforms: [
      [SNES, 'snes', 'SNES'],
      [PS2, 'ps2', 'PlayStation 2'],
    ],
    games,
    covers,
    coverFiles: covers.map(([id]): Row => [id, id, null, null, null, null, null, `${id}.png`]),
    accounts: [],
    gameTitles: [[6, 'Super Probotector: Alien Rebels']],
    gameIds: [
      [16, 'serial', 'SLUS_201.42'],
      [16, 'sha1', 'ABCDEF'],
      [3, 'mame', 'mmx'],
      [17, 'igdb', '7'],
      [1, 'igdb', '7'],
    ],
    platformIds: [
      [SNES, 'igdb', '19'],
      [SNES, 'screenscraper', '4'],
    ],
  };
}

const key = testKey(1);
const proxy = await startProxy(await makeSnapshots(makeCatalogue(), [key]), {}, NEVER);

// biome-ignore lint/suspicious/noExplicitAny: a body of any shape
type Json = any;

async function get(query: Readonly<Record<string, string>>) {
  const target = `/match?${new URLSearchParams(query)}`;
  const { status, headers, text, json } = await proxy.get(target, key.key);
  checkContract('GET', `/api/v1${target}`, { status, headers, text });
  return { status, json: json as Json };
}

async function match(
  names: string | readonly string[],
  more: Readonly<Record<string, string>> = {},
) {
  const list = [names].flat().join('/');
  const { status, json } = await get({ platform: 'snes', names: list, ...more });
  expect(status, JSON.stringify(json)).toBe(200);
  return json.data as Json[];
}

/** What a name means, shortly: the kind, the id of the game, and those of the candidates. */
const shortly = ({ match: kind, game, candidates }: Json) => [
  kind,
  game?.id ?? null,
  candidates.map((candidate: Json) => `${candidate.match} ${candidate.game.id}`),
];

/** What one name means, shortly. */
const meaning = async (...asked: Parameters<typeof match>) => shortly((await match(...asked))[0]);

test.each([
  ['super_metroid_(USA).sfc', 'exact', 1],
  ['Legend of Zelda, The - A Link to the Past (U) [!].smc', 'exact', 2],
  ['Mega Man 10 (Hack).sfc', 'exact', 3],
  ['Super Probotector - Alien Rebels (E).sfc', 'exact', 6],
  ["Disney's Aladdin (USA).sfc", 'same', 8],
  ['Doubutsu no Mori (Japan).sfc', 'same', 7],
  ['X Mega Man (World).sfc', 'same', 3],
  ['Super Metrodi (USA).sfc', null, null],
  ['Super Metroyd (USA).sfc', 'near', 1],
  ['Contra III - The Alien War (USA).sfc', 'near', 6],
  ['Contra IV - The Alien Wars (USA).sfc', null, null],
  ['Drum Duel - Drums Night (USA).sfc', 'near', 47],
  ['Mega Man (USA).sfc', null, null],
  ['Kingdom Hearts Final Mix.iso', null, null],
  ['1942 (Europe).sfc', 'exact', 45],
  // A number alone is no year, and no part of a title.
  ['42.sfc', null, null],
  ['10 - Owls.sfc', null, null],
  // A game with fronts of other regions only is likely another one.
  ['Contra III - The Alien War (Japan).sfc', null, null],
])('%s is %s %s', async (name, kind, id) => {
  const [item] = await match(name);
  expect([item.name, ...shortly(item).slice(0, 2)]).toEqual([name, kind, id]);
});

test('what was read comes with the answer, and the names keep their order', async () => {
  const names = ['Nothing Like It (Japan) (Disc 2).7z', 'Super Metroid (Japan).sfc'];
  const [first, second] = await match(names);
  expect(first).toEqual({
    name: names[0],
    read: { title: 'Nothing Like It', regions: ['Japan'], disc: '2', serial: null },
    match: null,
    game: null,
    candidates: [],
  });
  const backwards = await match([...names].reverse());
  expect(backwards).toEqual([second, first]);
});

test('of several exact games, that with a front in the region of the name comes first', async () => {
  expect(await meaning('Tetris (Japan).sfc')).toEqual(['exact', 11, ['exact 10', 'exact 9']]);
  expect((await meaning('Tetris (Europe).sfc'))[1]).toBe(10);
  expect((await meaning('TETRIS.sfc'))[1]).toBe(10);
});

test('a game of the region of the name comes before one of other regions that is spelt like it', async () => {
  expect(await meaning('Raven Bros (USA).sfc')).toEqual(['same', 50, ['exact 49']]);
  for (const name of ['Raven Bros (Japan).sfc', 'Raven Bros (Korea).sfc', 'Raven Bros.sfc'])
    expect((await meaning(name)).slice(0, 2), name).toEqual(['exact', 49]);
});

test('a game of quite another year is only a candidate', async () => {
  for (const name of ['Grim (1998)(Ivy).sfc', 'Grim (199x).sfc', '1942 (1984).sfc'])
    expect((await meaning(name))[0], name).toBe('exact');
  for (const name of ['Grim (2016).sfc', 'Grim (1987-05-12).sfc', 'Grim.2016.SNES-IVY'])
    expect(await meaning(name), name).toEqual([null, null, ['exact 46']]);
});

test('of a name with two titles, the game of the other one is a candidate', async () => {
  expect(await meaning('Super Metroid aka Grim.sfc')).toEqual(['exact', 1, ['exact 46']]);
  expect(await meaning('Owls ~ Grim (USA).sfc')).toEqual(['exact', 46, []]);
});

test('a whole title comes before one of two in a title', async () => {
  expect(await meaning('Checkers (USA).bin')).toEqual(['exact', 15, ['exact 14']]);
  expect(await meaning('Video Checkers (USA).bin')).toEqual(['exact', 14, []]);
});

test('two games that are the same, and a title without its subtitle, are only candidates', async () => {
  expect(await meaning('Jikkyoo Baseball (J).sfc')).toEqual([null, null, ['same 12', 'same 13']]);
  expect(await meaning('Okage', { platform: 'ps2' })).toEqual([null, null, ['part 16']]);
});

test.each([
  ['Revolution X (USA)', 'snes', 'near', 5],
  ['Contra III (USA)', 'snes', 'near', 6],
  ['Mega Man X - Sigma Rising (USA)', 'snes', 'near', 3],
  ['Mega Man X - Sigma Rising (Hack)', 'snes', null, null],
  ['Zelda no Densetsu - Mujura no Kamen', 'ps2', 'near', 21],
  ['Zelda no Densetsu 2 - Mujura no Kamen', 'ps2', null, null],
  // Two games have this subtitle.
  ['Rune Story - Special Edition', 'ps2', null, null],
  ['Sanrio Shanghai', 'ps2', 'near', 22],
  ['Okage', 'ps2', null, null],
  ['Glass Harbor', 'ps2', 'near', 38],
  ['Glass Harbor (Hack)', 'ps2', null, null],
  // A game of another platform has this title.
  ['Super Metroid Saga', 'ps2', null, null],
  ['Party Box Vol. 7 - The Bowling', 'ps2', 'near', 41],
  ['Party Box Vol. 8 - Bowling Night', 'ps2', null, null],
  // The other game is a part of it.
  ['Robo Quest 2', 'ps2', 'near', 42],
  ['Harbor Golf 2', 'ps2', 'near', 44],
  // Another game has the same title in front of a subtitle.
  ["Phantasy Star II - Huey's Adventure", 'ps2', null, null],
])('%s on %s, whose title lacks a part, is %s %s', async (name, platform, kind, id) => {
  expect((await meaning(name, { platform })).slice(0, 2)).toEqual([kind, id]);
});

test.each([
  // An extension that no table has.
  ['Super Metroid.quux', 1],
  ['Owl Hunt.scummvm', 33],
  ['N.O.V.A.zip', 32],
  ['N.O.V.A.quux', 32],
  ['Mega Man X.p', 3],
  ['Super Metroid.sfc.bak', 1],
  ['Comet.Kart', 35],
  ['Super.Metroid.Kart', null],
  ['super.metroid.kart', null],
  ['Super Metroid.wsquashfs', 1],
  ['Super Metroid.0', 1],
  ['Mega Man X2.0', 4],
  // Parts and versions of files.
  ['Super Metroid.part1.rar', 1],
  ['Super Metroid.v2.sfc', 1],
  ['Super Metroid.v1.1.sfc', 1],
  // A year at the end, and codes in front.
  ['Grim.1994.SNES-IVY', 46],
  ['Grim 1994', 46],
  ['SHVC-RI Super Metroid', 1],
  ['MK-1186 - Super Metroid', 1],
  ['ADAE Super Metroid', 1],
  ['101ABCDE Super Metroid', 1],
  ['000400000F123400 Super Metroid (CTR-P-ALCE) (E).cia', 1],
  ['LUNAR Super Metroid', null],
  ['Super Metroid.2', null],
  ['Super Metroid.IV', null],
  // One half of a title, "Version" left out, an X and its number.
  ['Fukurou Gari.zip', 33],
  ['Plum Red (U).gb', 31],
  ['Mega Man X 2.smc', 4],
  ['Mega Man X II.smc', 4],
  // Loose names.
  ['super metroid usa.sfc', 1],
  ['Super-Metroid-USA', 1],
  ['Super Metroid - USA', 1],
  ['Super Metroid_USA', 1],
  ['SNES - Super Metroid', 1],
  ['Super Metroid SNES eur', 1],
  ['Copy of Super Metroid (USA)', 1],
  ['Super Metroid - Copy (2)', 1],
  ['01 - Super Metroid', 1],
  ['x012 - Super Metroid (U)', 1],
  ['001. Super Metroid', 1],
  ['super-metroid-disc-2.bin', 1],
  ['GSME01 - Super Metroid.iso', 1],
  ['Super Metroid_GSME01.iso', 1],
  ['Super Metroid NTSC', 1],
  ['EP1234-BLES01234_00-SUPERMETROID0000.pkg', 1],
  ['Comet2_v1.2_0004.lha', 34],
  // Any run of words that say what the file is.
  ['Super Metroid USA Europe', 1],
  ['Super Metroid World Rev A', 1],
  ['Super Metroid MULTi5 German v1.2', 1],
  ['Super.Metroid.ITA.ENG.DVD-OWLS', 1],
  ['SUPERMETROID-OWLS', 1],
  ['super_metroid_de', 1],
  ['setup_super_metroid_2.1.0.exe', 1],
  ['Super Metroid-D1.bin', 1],
  ['Super Metroid [GoodOwl 3.2] DEX', 1],
  ['SuperMetroid_PCSF00214_v1.02', 1],
  ['4D5307E6 - Super Metroid', 1],
  ['Super Metroid.81', 1],
  ['Comet II.81', 34],
  ['Glass Harbour.p', null],
  // The game's own companies, without brackets, and those of others.
  ['Ivy Works - Grim', 46],
  ['Grim, Owl House, 1993', 46],
  ['Grim-1993-Ivy', 46],
  ['Grim Kite', null],
  // Two titles of a game.
  ['Super Metroid aka Night Owls', 1],
  ['Сова (Super Metroid) (RUS)', 1],
  // What stands for a slash.
  ['.orbit__Eclipse', 48],
  ['.orbit__Eclipse.sfc', 48],
  ['.orbit--Eclipse (USA).sfc', 48],
  // Nothing but a code.
  ['SLES_501.42.sfc', null],
  ['MTRO-01942.sfc', null],
  // Near enough for a name, not for a guess.
  ['Super Metroyd', 1],
  ['01 - Super Metroyd', null],
  ['Super Metroid World', null],
  ['Super Metroid PS2', null],
  // Two games have this title.
  ['Twin Peaks.quux', 36],
  ['01 - Twin Peaks', null],
  // What follows a number in the middle makes another game of it.
  ['Tower Cats 3 & Friends', null],
])('what %s leaves out or adds, leaves game %s', async (name, id) => {
  expect((await meaning(name))[1]).toBe(id);
});

test('what was left out of a name is read from it', async () => {
  const [{ read }] = await match('01 - super metroid europe [Disc2of3].quux');
  expect(read).toEqual({ title: 'super metroid', regions: ['Europe'], disc: '2', serial: null });
});

test.each([
  ['Kitten Saga - The Silver Crater', 28],
  ['Moon Cats 4 - The Silver Crater', 28],
  ['01 - Kitten Saga - The Silver Crater', 28],
])('%s, whose subtitle only one game has, is a candidate', async (name, id) => {
  expect(await meaning(name)).toEqual([null, null, [`part ${id}`]]);
});

test('a tag is a part of a title only if the title has it in brackets', async () => {
  const names = ['Agent (USA).iso', 'Agent (Demo) (USA).iso'];
  const found = await match(names, { platform: 'ps2' });
  expect(found.map(({ game }) => game.title)).toEqual(['Agent', 'Agent (Demo)']);
});

test('the cover is one of the region in the name, then of prefer', async () => {
  const regionOf = async (name: string, prefer: string) =>
    (await match(name, { include: 'cover', prefer }))[0].game.cover?.region;
  expect(await regionOf('Super Metroid (Europe).sfc', 'Japan')).toBe('Europe');
  expect(await regionOf('Super Metroid (Korea).sfc', 'Japan')).toBe('Japan');
  expect(await regionOf('Super Metroid.sfc', 'Japan,USA')).toBe('Japan');
});

test('several platforms are searched together', async () => {
  const both = await match('Super Metroid (Europe)', { platform: 'ps2,snes' });
  expect(shortly(both[0])).toEqual(['exact', 1, ['exact 17']]);
});

describe('ids', () => {
  test('find games by serials in names, by short names, and as they are', async () => {
    const ps2 = { platform: 'ps2' };
    expect(await meaning('SLUS_201.42.OKAGE.iso', ps2)).toEqual(['id', 16, []]);
    expect(await meaning('[SLUS-20142].iso', ps2)).toEqual(['id', 16, []]);
    expect(await meaning('mmx.zip')).toEqual(['id', 3, []]);
    const { json } = await get({ ids: 'sha1:abcDEF/serial:slus20142/igdb:7/igdb:8' });
    expect(json.data.map(shortly)).toEqual([
      ['id', 16, []],
      ['id', 16, []],
      ['id', 17, ['id 1']],
      [null, null, []],
    ]);
    expect(json.data.map(({ name, read }: Json) => [name, read])[0]).toEqual(['sha1:abcDEF', null]);
  });

  test('of platforms stand for their slugs', async () => {
    const found = await match('Super Metroid', { platform: 'igdb:19' });
    expect(found).toEqual(await match('Super Metroid'));
    expect(
      shortly((await get({ ids: 'igdb:7', platform: 'screenscraper:4' })).json.data[0]),
    ).toEqual(['id', 1, []]);
  });
});

test('platforms may have the names that programs use, as in a search', async () => {
  const names = 'Super Metroid (Europe).iso';
  const of = async (platform: string) => (await get({ platform, names })).json.data[0].game?.id;
  const metroid = GAMES.findIndex(
    ([platform, title]) => platform === PS2 && title === 'Super Metroid',
  );
  const ids = ['ps2', 'Sony - PlayStation 2', 'PlayStation2', 'PS2'].map(of);
  expect(new Set(await Promise.all(ids))).toEqual(new Set([metroid + 1]));
  expect(await of('Super Famicom')).toBe(1);
  const totals = ['SNES', 'Super Famicom', 'screenscraper:4', 'igdb:20'].map(async (platform) => {
    const query = new URLSearchParams({ platform });
    return (await proxy.get(`/search?${query}`, key.key)).json.total;
  });
  const games = GAMES.filter(([platform]) => platform === SNES).length;
  expect(await Promise.all(totals)).toEqual([games, games, games, 0]);
});

test.each([
  [{ names: 'a' }, /^platform is missing/],
  [{ platform: 'snes' }, /^names is missing/],
  [{ platform: 'snes', names: 'a', ids: 'igdb:7' }, /^Send either names or ids/],
  [{ platform: 'snes', names: 'a//b' }, /^names must be 1 to 50 file names/],
  [{ platform: 'snes', names: 'a'.repeat(256) }, /^names must be 1 to 50 file names/],
  [{ platform: 'snes', names: Array(51).fill('a').join('/') }, /^names must be 1 to 50 file names/],
  [
    { platform: 'playstaton', names: 'a' },
    /^There is no platform "playstaton"\. The nearest are ps2, snes; \/platforms lists all/,
  ],
  [{ platform: 'igdb:20', names: 'a' }, /^There is no platform "igdb:20"/],
  [
    { platform: 'snes,snes,snes,snes,snes,snes,snes,snes,snes', names: 'a' },
    /^platform must be 1 to 8/,
  ],
  [{ platform: 'snes,', names: 'a' }, /^platform must be 1 to 8/],
  [{ ids: '7' }, /^ids must be 1 to 50 ids with their sources/],
  [
    { platform: 'snes', names: 'a', q: 'b' },
    /^Unknown parameter: q\. Allowed: platform, names, ids/,
  ],
])('%j is refused', async (query, error) => {
  const { status, json } = await get(query as Record<string, string>);
  expect([status, json.error]).toEqual([400, expect.stringMatching(error)]);
});

test('a request line of more than 8,192 bytes gets 414, one of 8,192 is answered', async () => {
  const line = (bytes: number) => {
    const start = '/match?platform=snes&names=';
    const names = Array(33).fill('x'.repeat(255)).join('/');
    return (start + names).slice(0, bytes - 'GET /api/v1 HTTP/1.1'.length);
  };
  expect((await proxy.get(line(8_192), key.key)).status).toBe(200);
  expect((await proxy.get(line(8_193), key.key)).status).toBe(414);
});

test('the same answer has the same ETag, and another name has another', async () => {
  const target = '/match?platform=snes&names=Tetris';
  const first = await proxy.get(target, key.key);
  const again = await proxy.get(target, key.key);
  const other = await proxy.get('/match?platform=snes&names=tetris', key.key);
  expect(again.headers.etag).toBe(first.headers.etag);
  expect(other.headers.etag).not.toBe(first.headers.etag);
});
