/**
 * What file names of games have besides titles, as data. Sources: No-Intro naming convention; Redump's
 * disc and edition names; TOSEC naming convention v4 (2015), flags and dump info; GoodTools' GoodCodes;
 * MAME's software lists and sets; the scene's dirname rules; extensions: libretro's core info files.
 */

const list = (text: string) => text.trim().split(/\s+/);

/** Extensions of ROMs, disc images, tapes and archives. */
export const EXTENSIONS: ReadonlySet<string> = new Set(
  list(`
    zip 7z rar gz xz zst tar lha lzh iso bin cue img chd cso zso pbp ccd sub mds mdf nrg gdi cdi toc m3u
    ecm dax rvz gcz gcm wbfs wad wia nkit ciso tgc wud wux rpx nsp xci nsz 3ds 3dsx cia cci cxi app dsi
    nds srl ids gba agb gb gbc sgb cgb nes unf unh unif fds qd sfc smc swc fig bs st n64 z64 v64 u1 ndd
    vb vboy min md gen smd sms gg sg sc 32x 68k sgd mdx pce sgx a26 a52 a78 lnx lyx bll o j64 jag abs cof
    col cv int itv rom ri mx1 mx2 dsk cas ws wsc pc2 ngp ngc npc vec chf sv tap tzx t64 d64 d71 d81 d80
    g64 nib crt prg p00 x64 z80 sna szx trd scl dck csw wav adf adz dms ipf hdf lha slave uae atr xfd
    atx xex com exe car bas woz po do 2mg nib a2r dim d88 88d hdm xdf hfe fdd fdi scp d77 hdi nhd mgt
    opd stx msa cdt cpr voc p8 png tic vpk pkg psv elf jar love wasm uze uf2 puz bz2 chp ipa apk bat lnk
    conf dosz mp3 kcs k7 m5 sap fd ldr vms
  `),
);

/** Codes of languages (ISO 639-1) that No-Intro and TOSEC write. */
export const LANGUAGES: ReadonlySet<string> = new Set(
  list(`
    en ja fr de es it nl pt sv no da fi zh ko pl ru cs hu tr el ar he hr sk sl ro bg uk ca eu gd
    is et lv lt th vi id hi la cy ga
  `),
);

/**
 * The words that say what a file is, in lower case, by where they say so: a word for a platform does at the end of
 * a scene name, and other words in brackets only, because titles have them too.
 */
export const WORDS: Readonly<Record<'anywhere' | 'scene' | 'brackets', ReadonlySet<string>>> = {
  anywhere: new Set(
    list(`
      proper readnfo nfo repack internal rerip dirfix nfofix crackfix subbed multi
      decrypted encrypted trimmed untrimmed ntsc pal secam ntscu ntscj dvd dvd5 dvd9 dvd-5 dvd-9 ps2dvd ps2cd xboxdvd
      limited demo kiosk beta proto prototype prerelease preview promo sample unl unlicensed homebrew aftermarket
      bootleg pd aga ocs ecs ste dump overdump undumped cracked trainer translated patched patch update dlc
      english german french spanish italian dutch portuguese japanese eng ger fre spa ita dut cht chs
      eshop psn gog steam codex nonpdrm maidump mai vitamin dex cex goodgen media retail final-release copy
    `),
  ),
  scene: new Set(
    list(`
      3ds 3dsware n3ds nds dsi ndsi nsw ps1 psx ps2 ps3 ps4 ps5 psp psv psvita vita xbox xbox360 x360 ngc
      gcn gc wii wiiu wiiware gba gbc gb n64 snes dc dreamcast saturn pc
      read int real fix dubbed rf cd iso jpn usa eur fra kor addon clone
    `),
  ),
  brackets: new Set(
    list(`
      tech debug alpha promotional review pirate hack alt alternate reprint rerelease
      virtual console collection classics program test bios enhanced compatible rumble exclusive budget
      greatest hits platinum players choice best ultimate the edition disc disk side tape cart cartridge
      rev revision version ver v set final download digital wonderwitch switch wii wiiu
      gamecube gba gbc gb sgb nds ndsi dsi nes snes sfc fds md sms gg 32x cd msx sega nintendo sony lock-on
      mono stereo color rgb vga cga ega st 16k 32k 48k 64k 128k 256k 512k
      taikenban trial jitsuenban hibaihin mirai genteiban shokai
      sets bundle alternative bad fixed jamma
      install installer data boot user save scenario character game
    `),
  ),
};
