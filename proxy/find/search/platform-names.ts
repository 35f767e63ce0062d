/** The names by which people call platforms, and the words of a query that name them. */
import type { RecordIndex } from '../../../lib/format/index/record-index.ts';
import { plainWordsOf } from '../../../lib/format/index/words.ts';

export interface PlatformRun {
  /** The numbers of the platforms that the words name. */
  readonly platforms: readonly number[];
  /** The other words of the query. */
  readonly rest: readonly string[];
}

export interface PlatformWords {
  /** Whether a word by itself names a platform. */
  isName(word: string): boolean;
  /** The runs of neighbouring words that name platforms: longer ones first, then later ones first. */
  runsIn(words: readonly string[]): PlatformRun[];
}

/** What separates the names of one platform, as in "Mega Drive / Genesis". */
const NAME_SEPARATOR = /\s[-–|]\s|\//;
/** A qualifier does not name a platform: "Wii (Digital)" is called Wii. */
const QUALIFIER = /\([^)]*\)/g;

export function makePlatformWords({ platforms }: RecordIndex): PlatformWords {
  const byName = new Map<string, Set<number>>();
  const add = (name: string, number: number) => {
    const key = keyOf(name);
    if (key === '') return;
    byName.set(key, (byName.get(key) ?? new Set()).add(number));
  };
  const named = PLATFORM_NAMES.flatMap((group) =>
    group.map((name) => ({ key: keyOf(name), group })),
  );
  const groupsOf = Map.groupBy(named, ({ key }) => key);
  for (const [number, { slug, name }] of platforms.entries()) {
    for (const own of [slug, name, ...name.replace(QUALIFIER, '').split(NAME_SEPARATOR)]) {
      add(own, number);
      for (const { group } of groupsOf.get(keyOf(own)) ?? []) {
        for (const other of group) add(other, number);
      }
    }
  }

  return {
    isName: (word) => byName.has(word),
    runsIn(words) {
      const runs: PlatformRun[] = [];
      for (let length = words.length; length > 0; length--) {
        for (let from = words.length - length; from >= 0; from--) {
          const named = byName.get(words.slice(from, from + length).join(''));
          if (named === undefined) continue;
          runs.push({ platforms: [...named], rest: words.toSpliced(from, length) });
        }
      }
      return runs;
    },
  };
}

/** A name without spaces and punctuation, so that "Mega Drive" and "megadrive" are the same. */
function keyOf(name: string): string {
  return plainWordsOf(name).join('');
}

/**
 * The names of platforms. A platform whose slug, name or part of a name is in a group is found by every name of
 * the group. Case, accents, spaces and punctuation do not matter.
 */
export const PLATFORM_NAMES: readonly (readonly string[])[] = `
  NES, Nintendo Entertainment System, Nintendo NES;
  Famicom, FC, Family Computer, ファミリーコンピュータ, ファミコン, jp-famicom;
  FDS, Famicom Disk System, Family Computer Disk System;
  SNES, Super Nintendo, Super NES, Super Nintendo Entertainment System;
  Super Famicom, SFC, スーパーファミコン, jp-super-famicom; N64, Nintendo 64, NINTENDO64;
  64DD, N64DD, Nintendo 64DD; GameCube, Nintendo GameCube, GC, NGC, GCN, ニンテンドーゲームキューブ;
  Wii, Nintendo Wii, Wii (Digital); Wii U, Nintendo Wii U, Wii U (Digital);
  Switch, Nintendo Switch, NSW; Game Boy, GB, DMG, Nintendo Game Boy, ゲームボーイ;
  Game Boy Color, GBC, Nintendo Game Boy Color;
  Game Boy Advance, GBA, Nintendo Game Boy Advance, ゲームボーイアドバンス; Nintendo DS, DS, NDS, ニンテンドーDS;
  Nintendo DSi, DSi; Nintendo 3DS, 3DS, N3DS, ニンテンドー3DS; New Nintendo 3DS, New 3DS;
  Virtual Boy, VB, Nintendo Virtual Boy; Satellaview, BS-X; Pokemon Mini, Pokémon mini;
  PlayStation, PS1, PSX, PSone, PS, Sony PlayStation, プレイステーション;
  PlayStation 2, PS2, Sony PlayStation 2, プレイステーション2;
  PlayStation 3, PS3, Sony PlayStation 3, プレイステーション3, PlayStation 3 (PSN);
  PlayStation 4, PS4, Sony PlayStation 4, プレイステーション4; PlayStation 5, PS5, Sony PlayStation 5;
  PlayStation Portable, PSP, プレイステーション・ポータブル, PlayStation Portable (PSN);
  PlayStation Vita, Vita, PS Vita, PSV, プレイステーション Vita, PlayStation Vita (PSN);
  Xbox, Microsoft Xbox, Original Xbox, OG Xbox;
  Xbox 360, X360, 360, Microsoft Xbox 360, Xbox 360 (Digital);
  Xbox One, XB1, XBone, Microsoft Xbox One;
  Mega Drive, Genesis, MD, Sega Genesis, Sega Mega Drive, メガドライブ;
  Master System, SMS, Sega Master System, Mark III, Sega Mark III;
  Mega-CD, Sega CD, Sega Mega-CD, MCD; 32X, Sega 32X; Saturn, Sega Saturn, SS, セガサターン;
  Dreamcast, DC, Sega Dreamcast, ドリームキャスト; Game Gear, GG, Sega Game Gear, ゲームギア;
  SG-1000, Sega SG-1000; Naomi, Sega Naomi;
  PC Engine, PCE, TurboGrafx-16, TurboGrafx, TG16, PCエンジン;
  PC Engine CD, PCE CD, TurboGrafx-CD, TurboGrafx CD; SuperGrafx, PC Engine SuperGrafx;
  PC-FX, NEC PC-FX; PC-98, PC98, NEC PC-98, PC-9801; PC-88, PC88, NEC PC-88, PC-8801;
  Neo Geo, NeoGeo, AES, MVS, SNK Neo Geo; Neo Geo CD, NGCD, SNK Neo Geo CD, ネオジオCD;
  Neo Geo Pocket, NGP, SNK Neo Geo Pocket; Neo Geo Pocket Color, NGPC;
  WonderSwan, WS, Bandai WonderSwan, ワンダースワン; WonderSwan Color, WSC, Bandai WonderSwan Color;
  3DO, Panasonic 3DO, 3DO Interactive Multiplayer; CD-i, Philips CD-i;
  Atari 2600, 2600, VCS, Atari VCS; Atari 5200, 5200; Atari 7800, 7800; Jaguar, Atari Jaguar;
  Lynx, Atari Lynx; Atari ST; Atari 8-bit Family, Atari 8-bit, Atari 800, Atari XL;
  Commodore 64, C64, CBM 64; VIC-20, VIC20, Commodore VIC-20; Amiga, Commodore Amiga;
  CD32, Amiga CD32, Commodore CD32;
  ZX Spectrum, Spectrum, Speccy, Sinclair ZX Spectrum, Sinclair Spectrum;
  ZX 81, ZX81, Sinclair ZX81; Amstrad CPC, CPC, CPC 464; GX4000, Amstrad GX4000;
  MSX, Microsoft MSX; MSX2, MSX 2, Microsoft MSX2; X68000, X68k, Sharp X68000;
  Apple II, Apple 2, Apple IIe; ColecoVision, Coleco, Coleco ColecoVision;
  Intellivision, Mattel Intellivision; Odyssey2, Odyssey 2, Magnavox Odyssey 2;
  Channel F, Fairchild Channel F; Vectrex, GCE Vectrex;
  DOS, MS-DOS, PC DOS, PC (DOS and Windows), PC;
  Windows, PC, Microsoft Windows, PC (DOS and Windows), Win;
  Mac, Macintosh, macOS, Mac OS, macOS (open source); Arcade, MAME, Arcade Games, Coin-op
`
  .split(';')
  .map((group) => group.trim().split(/,\s+/));
