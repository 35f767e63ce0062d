/**
 * A catalogue for searches: seeded games, the sample, and titles chosen so that each rule of search has
 * something to find. With it come the names of the platforms.
 */

import type { Catalogue } from '#demo/catalogue/load.ts';
import { sampleCatalogue, slugOf } from '#demo/catalogue/sample.ts';
import { PLATFORM_ROWS } from '#find/names/platform-table.ts';
import type { Row } from '#lib/database/database.ts';
import { seededCatalogue } from '#test/catalogue/seeded.ts';
import type { NamedPlatform } from './reference/find.ts';
import { plainWordsOf } from './reference/text.ts';

/** Titles on platforms of the sample: "platform | title [slug] | alternative title | …". */
const CHOSEN = `
pc | S.T.A.L.K.E.R.: Clear Sky | Stalker: Clear Sky
pc | F.E.A.R. | First Encounter Assault Recon
pc | F.E.A.R. 2: Project Origin
nes | R.C. Pro-Am II
nes | E.T. the Extra-Terrestrial
ps1 | I.Q Final | Kurushi Final
mega-drive | M.U.S.H.A. | Musha Aleste
nes | G.I. Joe: A Real American Hero
gamecube | StarFox Assault
n64 | Star Fox 64 | Lylat Wars | スターフォックス64
snes | Mega Man | Rockman | ロックマン
snes | Mega Man 10
ps1 | Megaman X4 | Rockman X4
nes | Mega Man V
nes | Mega Man 5
n64 | Golden Eye | 007: Golden Eye
mega-drive | NHL 94
snes | NHL95
ds | MOTHER 3 | Earth Bound 2
gba | Mother1+2 | Mother 1 & 2
ps1 | Final Fantasy 7 | FF7 | Final Fantasy VII: International
nes | Final Fantasy II
nes | Final Fantasy XX | Final Fantasy 20
snes | Street Fighter II' Turbo | Street Fighter 2 Turbo: Hyper Fighting
pc | Doom II: Hell on Earth | Doom 2
pc | Doom 3 | Doom iii
ds | Rocky V
ds | Rocky 5
n64 | Super Smash Brothers
nes | Super Mario Bros. 2 | Super Mario Brothers II | スーパーマリオブラザーズ2
n64 | Doctor Mario 64
nes | Mr. Do!
snes | Mister Do vs. Doctor Don't
saturn | Saint Seiya Vol. 2
saturn | St. Seiya Volume II
nes | Vs. Excitebike
nes | Excitebike Versus
gba | NES Classics: The Legend of Zelda
gba | Pac-Man Jr. | Pac-Man Junior
gba | Pacman Sr.
pc | Mount & Blade
pc | Mt. Blade and Fire | Mount and Blade: With Fire & Sword
pc | 1st Person, Pt. 2
pc | First Person Part 3, 2nd Ed.
pc | Second Edition: Ep. 3rd
pc | Episode Third, Ver. 4
snes | Rock 'n' Roll Racing
snes | Rock & Roll Racing 2
snes | Rock and Roll Racing 3
snes | RocknRoll Racing 4
pc | C++ Adventures
pc | C# Major | C Sharp Major
pc | Vitamin C
pc | C
pc | Dungeons & Dragons | D&D
pc | Dungeons and Dragons: Intl. Version
pc | Ｄ＆Ｄ: Ｄｕｎｇｅｏｎ Ｍａｓｔｅｒ
nes | Chip 'n Dale: Rescue Rangers
pc | Q&A
pc | !!! [chk-chk-chk]
pc | & [ampersand]
pc | 1942 [shooting-1942] | Nineteen Forty-Two
pc | 1080
pc | 108
pc | Alien 3
pc | ½ Prince | Half Prince
game-boy | ポケモン [pokemon-jp] | ぽけもん | Pocket Monsters
game-boy | ぽけもん２ [pokemon-two-jp]
nes | ドラゴンクエストⅡ [dragon-quest-ii] | ドラゴンクエスト2 悪霊の神々
nes | ゼルダのでんせつ [zelda-no-densetsu] | The Hyrule Fantasy
snes | 真・女神転生 [shin-megami-tensei] | 真 女神転生
snes | 女神 転生 III [megami-tensei-three]
pc | Тетрис [tetris-ru] | Tetris
pc | 테트리스 2 [tetris-ko]
pc | 三国志 [sangokushi-1] | Romance of the Three Kingdoms
pc | Sonic & Knuckles & Tails
dreamcast | Sonic the Hedgehog 4: Episode I
dreamcast | Sonic the Hedgehog 4: Episode II
pc | FF7 Remake
pc | Lylat Wars 2
pc | Rockman Legacy
pc | Stalker Online
pc | Fox Star | Eye Golden
pc | Foxes & Star
pc | Starfoxes
pc | Star Foxes of Star
pc | XX Men
pc | 20 Men
pc | The Star Fox Story: From Lylat with Love
pc | Fantasy Final
pc | Final and Fantasy
pc | DragonQuest5
pc | DragonQuestV Gold
pc | Doctor X & Mister Y, Vol2
virtual-boy | 𠮷野家 の 𩸽 [yoshinoya]
virtual-boy | 超ドラゴン大戦 伝説 [super-dragon-wars]
virtual-boy | スーパー ドラゴン 大戦 2 [super-dragon-wars-two]
virtual-boy | Doom PS1
snes | Jikkyō Powerful Pro Yakyū | Jikkyou Powerful Pro Yakyuu
snes | Jikkyou Oshaberi Parodius
saturn | Jikkyoo Ookami Toukyou
saturn | Tōkyō Bus Annai & Ōkami
pc | Mouse Zoo Soul
pc | Moose Noon School Book
virtual-boy | Super Nintendo World
nes | Sword Saga I & II
nes | Sword Saga III
nes | Sword Saga XXIX
pc | Sword Saga 29 | Sword Saga 1 & 2
snes | Hat Trick '94
pc | HatTrick94 | Hat Trick 1994
pc | Hat Trick 2004
snes | 三國志 [sangokushi]
nes | 三国志II [sangokushi-ii]
snes | Kessen Sū Mō
pc | Shōgakusei no Kessen
pc | Tekenen met Ton
ps1 | Tekken Tag
ps1 | Tekken Two
ps1 | Tekken Three
pc | Tekken Four
pc | Tekken Five
pc | G.E.A. of Steel
pc | G Police
`;

const SEEDED_GAMES = 2_600;
/** Ids of games of the sample are less than this. */
export const FIRST_CHOSEN_ID = 500_000;
/** Ids of seeded games are at least this. */
export const FIRST_SEEDED_ID = 1_000_000;

export interface SearchCatalogue {
  readonly catalogue: Catalogue;
  readonly platforms: readonly NamedPlatform[];
}

/** Makes the catalogue, the same at each call. */
export function searchCatalogue(): SearchCatalogue {
  const sample = sampleCatalogue();
  const seeded = seededCatalogue({ games: SEEDED_GAMES, seed: 7 });
  const moved = (rows: Iterable<Row>, ...columns: number[]) =>
    [...rows].map((row) =>
      row.map((value, i) => (columns.includes(i) ? Number(value) + FIRST_SEEDED_ID : value)),
    );
  const { games, covers, gameTitles } = readChosen(sample);
  const platforms = [...sample.platforms, ...moved(seeded.platforms, 0)];
  return {
    catalogue: {
      platforms,
      games: [...sample.games, ...games, ...moved(seeded.games, 0, 1)],
      covers: [...sample.covers, ...covers, ...moved(seeded.covers, 0, 1)],
      coverFiles: [],
      gameTitles: [...(sample.gameTitles ?? []), ...gameTitles],
      accounts: [],
    },
    platforms: platforms.map(([, slug, name]) => namePlatform(String(slug), String(name))),
  };
}

/**
 * A platform has its slug, its name and the parts of its name ("Mega Drive / Genesis"), but not what is in brackets ("Wii (Digital)")
 * as names, and all names of every row of the table that has one of these.
 */
function namePlatform(slug: string, name: string): NamedPlatform {
  const own = [slug, name, ...name.replace(/\(.*?\)/g, '').split(/ - | – | \| |\//)];
  const key = (text: string) => plainWordsOf(text.replaceAll('+', ' plus ')).join('');
  const keys = new Set(own.map(key).filter((text) => text !== ''));
  const rows = PLATFORM_ROWS.filter(({ names, others }) =>
    [...names, ...others].some((text) => keys.has(key(text))),
  );
  const named = rows.flatMap(({ names }) => names);
  return { slug, names: [...own, ...named].map(key).filter((text) => text !== '') };
}

function readChosen(sample: Catalogue) {
  const platformIds = new Map([...sample.platforms].map(([id, slug]) => [String(slug), id]));
  const games: Row[] = [];
  const covers: Row[] = [];
  const gameTitles: Row[] = [];
  for (const line of CHOSEN.trim().split('\n')) {
    const [platform, heading, ...others] = line.split(' | ');
    const [, title, given] = /^(.+?)(?: \[([a-z0-9-]+)\])?$/.exec(heading) ?? [];
    const platformId = platformIds.get(platform);
    if (platformId === undefined) throw new Error(`The sample has no platform of "${line}".`);
    const id = FIRST_CHOSEN_ID + games.length;
    // The number makes the slug unique, but is part of no word that a query can be made of.
    const slug = given ?? `${slugOf(title)}-${id}`;
    games.push([id, platformId, slug, title, null, null, 'Chosen', null, null]);
    // None, one or two covers, so that equal titles differ in them.
    for (let number = 0; number < games.length % 3; number++) {
      const status = number === 0 ? 'approved' : 'pending';
      covers.push([FIRST_CHOSEN_ID + covers.length, id, 'Japan', 'front', status, null]);
    }
    gameTitles.push(...others.map((other) => [id, other]));
  }
  return { games, covers, gameTitles };
}
