/**
 * The names by which people and programs call platforms, as data. A row has the names of one machine, and of
 * its twin in Japan; a name in several rows means several machines. Case, accents, spaces and punctuation do
 * not matter. The maker at the start of a row may precede each of its names ("Sega Genesis"). After "=>" come names
 * of other platforms that the row means: "Arcade" means MAME and FBNeo, but "MAME" does not mean FBNeo.
 *
 * Sources: the names and folders of systems in EmulationStation, ES-DE, RetroPie, Batocera and Skyscraper;
 * the playlists and databases of libretro; the platforms of IGDB (which RomM uses), ScreenScraper,
 * MobyGames and TheGamesDB; the sets of No-Intro, Redump and TOSEC; MiSTer's cores. Some folders of launchers
 * also have games of a second machine: "atari800" and "atari8bit" those of the 5200, "amigacd32" of the Amiga,
 * "windows" and "linux" of DOS, "videopac-g7400" of the G7000. Names of programs that run games of many
 * machines ("ports", "scummvm") are left out.
 */

const TABLE = `
  Nintendo: NES, Famicom Entertainment System, Nintendo Entertainment System,
    Nintendo Entertainment System NES, Famicom, FC, Family Computer, NES Famicom, Famicom NES,
    Nintendo Famicom NES, ファミリーコンピュータ, ファミコン, jp-famicom;
  Nintendo: FDS, Famicom Disk System, Family Computer Disk System, Disk System, Famicom Disk, FDSjp;
  Nintendo: SNES, Super Nintendo, Super NES, Super Nintendo Entertainment System,
    Super Nintendo SNES, Super Famicom, SFC, SFAM, SNESNA, Super Famicom Super Entertainment System,
    SNES MSU-1, SNES Super Famicom, Super Nintendo Super Famicom,
    Super Nintendo Entertainment System Super Famicom, スーパーファミコン, jp-super-famicom;
  Nintendo: Satellaview, BS-X, SNES Satellaview, Broadcast Satellaview;
  Bandai: Sufami Turbo, Sufami, Nintendo Sufami Turbo, SuFami Turbo SNES;
  Nintendo: N64, Nintendo 64, Ultra 64;
  Nintendo: 64DD, N64DD, Nintendo 64DD, Nintendo 64 Disk Drive;
  Nintendo: GameCube, GC, NGC, GCN, ニンテンドーゲームキューブ; Nintendo: Wii, Wii (Digital);
  Nintendo: Wii U, Wii U (Digital); Nintendo: Switch, NSW; Nintendo: Switch 2, NSW2;
  Nintendo: Game Boy, GB, DMG, Original Game Boy, ゲームボーイ;
  Nintendo: Game Boy Color, GBC, CGB, Game Boy Colour, ゲームボーイカラー;
  Nintendo: Game Boy Advance, GBA, AGB, ゲームボーイアドバンス; Nintendo: DS, NDS, NTR, Nintendo DS, ニンテンドーDS;
  Nintendo: DSi, NDSi, Nintendo DSi;
  Nintendo: 3DS, N3DS, CTR, Nintendo 3DS, ニンテンドー3DS, Nintendo 3DS (Digital);
  Nintendo: New 3DS, New Nintendo 3DS, New N3DS, New Nintendo 3DS (Digital);
  Nintendo: Virtual Boy, VB, VBoy; Nintendo: Pokemon Mini, Poke Mini, PKMini;
  Nintendo: e-Reader, Card-e;
  Nintendo: Game & Watch, Game and Watch, G and W => Handheld Electronic Game;
  : Handheld Electronic Game, Handheld Electronic Games, Handheld Electronic LCD,
    LCD Games => Game & Watch;
  Sony: PlayStation, PS1, PSX, PSone, PS, PlayStation 1, PlayStation One, プレイステーション;
  Sony: PlayStation 2, PS2, プレイステーション2; Sony: PlayStation 3, PS3, プレイステーション3, PlayStation 3 (PSN);
  Sony: PlayStation 4, PS4, プレイステーション4, ps4--1; Sony: PlayStation 5, PS5, プレイステーション5;
  Sony: PlayStation Portable, PSP, プレイステーション・ポータブル, PlayStation Portable (PSN);
  Sony: PlayStation Vita, Vita, PS Vita, PSV, プレイステーション Vita, PlayStation Vita (PSN);
  Sony: PlayStation Minis, PSP Minis, Minis; Sony: PocketStation, PS PocketStation;
  Microsoft: Xbox, Original Xbox, OG Xbox, Xbox 1, Xbox Classic;
  Microsoft: Xbox 360, X360, 360, XB360, Xbox 360 (Digital); Microsoft: Xbox One, XB1, XBone, XOne;
  Microsoft: Xbox Series X, Xbox Series, Xbox Series X S, Series X, Series X S, XSX;
  Sega: Mega Drive, Genesis, MD, SMD, MegaDriv, Mega Drive Genesis, Genesis Mega Drive,
    Mega Drive JP, Mega Drive JPN, Mega Drive Japan, Genesis Slash Mega Drive, MSU-MD,
    MegaDrive MSU, メガドライブ, jp-mega-drive;
  Sega: Master System, SMS, Mark III, Mark 3, Master System Mark III, Mark III Master System;
  Sega: Mega-CD, Sega CD, SCD, MCD, Mega CD JP, Mega CD JPN, Mega-CD Sega CD, Sega CD Mega CD,
    Sega Mega CD Sega CD, メガCD;
  Sega: 32X, S32X, Sega32, ThirtyTwoX, 32X JP, 32X JPN, 32X NA, 32X USA, Mega Drive 32X, Mega 32X,
    Genesis 32X, Super 32X, スーパー32X;
  Sega: Saturn, SS, Saturn JP, Saturn JPN, セガサターン; Sega: Dreamcast, DC, SDC, ドリームキャスト;
  Sega: Game Gear, GG, ゲームギア; Sega: SG-1000, SG-1000 SC-3000; Sega: PICO, Kids Computer Pico;
  Sega: Beena, Advanced Pico Beena; Sega: Naomi, Naomi 1, Naomi GD, Naomi GD-ROM; Sega: Naomi 2;
  : Atomiswave, Sammy Atomiswave, Sega Atomiswave;
  NEC: PC Engine, PCE, TurboGrafx-16, TurboGrafx, TG16, TGFX16, TurboGrafx 16 PC Engine,
    PC Engine TurboGrafx 16, TurboGrafx-16 Slash PC Engine, TurboGrafx16--1, PCエンジン, jp-pc-engine;
  NEC: PC Engine CD, PCE CD, TurboGrafx-CD, TG-CD, TG16-CD, TGFX16-CD, TurboGrafx 16 CD,
    TurboGrafx-16 PC Engine CD, TurboGrafx-16 Slash PC Engine CD, PC Engine CD TurboGrafx CD,
    TurboGrafx CD PC Engine CD, PC Engine CD-ROM, PC Engine CD-ROM2, CD-ROM2, Super CD-ROM2,
    PC Engine Super CD-ROM2;
  NEC: SuperGrafx, PC Engine SuperGrafx, SGX, SGFX; NEC: PC-FX, PC-FX PC-FXGA;
  NEC: PC-98, PC-98 Series, PC-9801, PC-9800, PC-9800 Series, PC-9821, PCNinetyEight;
  NEC: PC-88, PC-88 Series, PC-8801, PC-8800, PC-8800 Series, PC-8001 PC-8801, PCEightyEight;
  NEC: PC-60, PC-6001, PC-6000, PC-6000 Series;
  SNK: Neo Geo, AES, MVS, Neo Geo AES, Neo Geo MVS, Neo Geo MVS AES, Neo Geo AES MVS, ネオジオ;
  SNK: Neo Geo CD, NGCD, Neo Geo CDZ, NeoCD, Neo Geo CD JP, Neo Geo CD JPN, ネオジオCD;
  SNK: Neo Geo Pocket, NGP;
  SNK: Neo Geo Pocket Color, NGPC, NGC Pocket Color, Neo Geo Pocket Colour;
  Bandai: WonderSwan, WS, WSwan, ワンダースワン;
  Bandai: WonderSwan Color, WSC, WSColor, WonderSwan Colour, WSwanC, スワンクリスタル;
  Benesse: Pocket Challenge V2, PCV2, Pocket Challenge; Bandai: Playdia;
  Bandai: Super Vision 8000, SV-8000;
  Panasonic: 3DO, 3DO Interactive Multiplayer, The 3DO Company 3DO, 3DO Company 3DO, Real 3DO;
  Philips: CD-i, CD-i Mono1, CD-interactive; Pioneer: LaserActive;
  Atari: 2600, A2600, VCS, Video Computer System, 2600 VCS;
  Atari: 5200, A5200, 5200 SuperSystem, FiftyTwoHundred;
  Atari: 7800, A7800, 7800 ProSystem, SeventyEightHundred; Atari: Jaguar;
  Atari: Jaguar CD, Jaguar CD Interactive Multimedia System; Atari: Lynx;
  : Atari ST, Atari STE, Atari ST STE, Atari ST TT Falcon;
  : Atari 8-bit Family, Atari 8-bit, Atari 800, Atari 400, Atari XL, Atari XE, Atari XL XE,
    Atari 400 800, Atari 130XE, Atari 65XE, Atari 800XL, Atari 8-bit Computers, Atari 400 800 XL XE,
    Atari XEGS, XEGS, XE Game System;
  : Atari 800, Atari 8-bit => Atari 5200, 5200; Commodore: Amiga CD32 => Commodore Amiga, Amiga;
  Philips: Videopac G7400 => Odyssey2, Magnavox Odyssey2, Videopac G7000; : Windows, Win => DOS, MS-DOS;
  : Linux => DOS, MS-DOS;
  Commodore: C64, CBM 64, Commodore 64, Commodore 64C; Commodore: C128, Commodore 128;
  Commodore: VIC-20, VC-20, C20; Commodore: PET, CBM PET, CPET, PET CBM, PET 2001;
  Commodore: Plus-4, C-Plus-4; Commodore: C16, Commodore 16;
  Commodore: Amiga, Amiga 500, Amiga 600, Amiga 1200, Amiga 4000, Amiga OCS, Amiga ECS, Amiga AGA,
    Amiga OCS ECS;
  Commodore: CD32, Amiga CD32; Commodore: CDTV, Amiga CDTV;
  Sinclair: ZX Spectrum, Spectrum, Speccy, ZXS, ZX Spectrum 48K, ZX Spectrum 128K, Spectrum 48K,
    Spectrum 128K;
  Sinclair: ZX Spectrum +3, Spectrum +3; Sinclair: ZX81; Sinclair: ZX80; Sinclair: QL;
  Amstrad: CPC, ACPC, CPC 464, CPC 6128, CPC 664; Amstrad: GX4000; Microsoft: MSX, MSX1;
  Microsoft: MSX2, MSX2 Computer; : MSX2+; : MSX Turbo R; Sharp: X68000, X68k; Sharp: X1;
  Sharp: MZ, MZ-700, MZ-800; Fujitsu: FM Towns, FM-Towns Marty; Fujitsu: FM-7;
  : Apple II, Apple 2, Apple IIe, Apple IIc, Apple II Plus; : Apple IIGS, Apple 2GS;
  Coleco: ColecoVision, Coleco; Coleco: Adam, Coleco Adam; Mattel: Intellivision, INTV;
  Magnavox: Odyssey2, Odyssey II, Videopac, Videopac G7000, G7000, Philips Videopac,
    Philips Videopac G7000, O2EM, Odyssey 2 Videopac, Odyssey 2 Slash Videopac G7000,
    Odyssey 2 Videopac G7000;
  Philips: Videopac+, Videopac+ G7400, Videopac G7400, G7400, Philips G7400;
  Fairchild: Channel F, VES Channel F, Video Entertainment System;
  GCE: Vectrex, MB Vectrex, Milton Bradley Vectrex; Emerson: Arcadia 2001, Arcadia;
  Interton: VC 4000, 1292 Advanced Programmable Video System, 1292 APVS;
  Elektor: TV Games Computer, Elektor, TVGC; Entex: Adventure Vision, AdVision;
  Epoch: Cassette Vision; Epoch: Super Cassette Vision, SCV; Epoch: Game Pocket Computer, GamePock;
  Casio: PV-1000; Casio: Loopy; VTech: CreatiVision, CRVision, Video Technology CreatiVision;
  VTech: V.Smile; VTech: Socrates; Hartung: Game Master, GMaster; Tiger: Game.com, Game Dot Com;
  Watara: Supervision, Watara Slash QuickShot Supervision, QuickShot Supervision,
    Watara QuickShot Supervision;
  Bit Corporation: Gamate;
  : Mega Duck, Cougar Boy, Mega Duck Slash Cougar Boy, Creatronic Mega Duck;
  Funtech: Super Acan, SupraCan; RCA: Studio II, Studio 2; GamePark: GP32; GamePark: GP2X;
  Nokia: N-Gage; Tiger: R-Zone; : Gizmondo; LeapFrog: LeapPad;
  LeapFrog: Leapster, Leapster Learning Game System; Konami: Picno; : Arduboy; : Uzebox; : Zeebo;
  Bally: Astrocade, Astrocde, Professional Arcade, Bally Professional Arcade;
  Spectravideo: SVI-318 SVI-328, SVI-318, SVI-328, SVI, SVI-318 328, Spectravideo;
  Enterprise: Enterprise 128, Enterprise 64, Enterprise 64 128, Elan Enterprise, EP128, Enterprise;
  Thomson: MOTO, Thomson, Thomson MO, Thomson TO, MO5, MO6, TO7, TO8, TO9, TO7 70, TO8D;
  Acorn: BBC Micro, BBC, BBC Microcomputer; Acorn: Electron; Acorn: Archimedes;
  : Oric, Oric Atmos, Oric-1; : Dragon 32, Dragon 64, Dragon 32 64;
  Texas Instruments: TI-99, TI-99 4A; Tandy: TRS-80;
  Tandy: CoCo, Color Computer, TRS-80 Color Computer, TRS-80 CoCo;
  : J2ME, Java ME, Java Mobile, Java 2 ME, Java 2 Micro Edition; : Palm OS, Palm;
  : Symbian, Symbian OS;
  : DOS, MS-DOS, PC DOS, PC (DOS and Windows), PC, IBM PC, DOSBox, IBM PC Compatible, PC Booter;
  : Windows, PC, Microsoft Windows, PC (DOS and Windows), PC Microsoft Windows, PC Windows, Win;
  : Mac, Macintosh, macOS, macOS (open source), Mac OS X, OS X, Apple Macintosh, Apple Mac;
  : Linux, GNU Linux, PC Linux; : Android, Google Android;
  : iOS, iPhone, iPad, Apple iOS, iPhone OS; : Web, Browser, Web Browser, HTML5;
  : Arcade, Arcade Games, Coin-op, アーケード => MAME, FBNeo, fbneo-arcade-games;
  : MAME, MAME Libretro, MAME AdvMAME, MAME MAME4All, MAME4All, AdvMAME, MAME2000, MAME2003,
    MAME 2003 Plus, MAME2010, MAME2015, MAME2016, MAME Current, MAME Standalone,
    Multiple Arcade Machine Emulator => Arcade;
  : FBNeo, FBNeo Arcade Games, FBA, FBN, FinalBurn Neo, Final Burn Alpha, FBAlpha, FBA Libretro,
    FBNeo Libretro => Arcade;
  : HBMAME, Homebrew MAME; : Daphne, Hypseus, Singe; : Infocom Z-Machine, Z-Machine, Infocom;
  : PICO-8; : TIC-80; : WASM-4; : LowRes NX; : Lutro; : ChaiLove; : CHIP-8; : MicroW8; : Vircon32;
  : RPG Maker, EasyRPG, RPG Maker 2000 2003, RPG Maker 2000; : PuzzleScript;
  : DICE, Discrete Integrated Circuit Emulator; : DOOM, PrBoom, Doom WADs;
  : Quake, TyrQuake, Quake 1, Quake I; : Quake II, Quake 2, vitaQuake 2;
  : Quake III, Quake 3, vitaQuake 3, Quake III Arena; : Cave Story, NXEngine;
  : Cannonball, OutRun Cannonball; : Dinothawr; : Flashback, REminiscence; : MrBoom;
  : Rick Dangerous, XRick; : Tomb Raider, OpenLara; : Wolfenstein 3D, ECWolf, Wolf3D; : Jump 'n Bump
`;

interface PlatformRow {
  /** '' if it has none. */
  readonly maker: string;
  /** Each means the machine of the row. */
  readonly names: readonly string[];
  /** The names of further platforms that these mean. */
  readonly others: readonly string[];
}

export const PLATFORM_ROWS: readonly PlatformRow[] = TABLE.split(';').map((row) => {
  const [, maker = '', listed = '', others] = /^\s*([^:]*):(.*?)(?:=>(.*))?$/s.exec(row) ?? [];
  const names = namesIn(listed);
  const isBare = (name: string) =>
    /^[ -~]+$/.test(name) && name !== maker && !name.startsWith(`${maker} `);
  const made = maker === '' ? [] : names.filter(isBare).map((name) => `${maker} ${name}`);
  return { maker, names: [...names, ...made], others: namesIn(others) };
});

function namesIn(list = ''): string[] {
  return list === '' ? [] : list.trim().split(/,\s+/);
}
