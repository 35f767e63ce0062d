/**
 * The words of the seeded catalogue: a few hundred common words of titles and an endless supply of
 * invented names, so that the vocabulary grows with the catalogue as in real ones.
 */
import type { Random } from '../../demo/catalogue/random.ts';

const list = (text: string): readonly string[] => text.trim().split(/\s+/);

// The most frequent words first.
const COMMON = list(`
  Super World Battle Star Dragon Game Quest Space Adventure Pro Man Racing Soccer Hero War Power
  Fighter Magic Master Force Final Legend Night City Dark Island King Ball Attack Story Baseball
  Mission Ninja Sword Rally Golf Deluxe Action Tennis Team Turbo Robot Castle Planet Moon Puzzle
  Park Mystery Fantasy Shadow Golden Secret Tower Blade Cosmic Wild Zone Fire Street Heart Hunter
  Kingdom Lost Monster Danger Escape Arena Champion League Cup Challenge Edition Party Club Train
  Wars Knight Blood Crystal Diamond Demon Devil Angel Spirit Soul Ghost Witch Wizard Dungeon Temple
  Tomb Treasure Pirate Ship Ocean Sea River Mountain Forest Desert Jungle Winter Summer Spring Storm
  Thunder Lightning Wind Snow Ice Flame Sun Sky Cloud Rainbow Earth Stone Iron Steel Silver Bronze
  Black White Red Blue Green Purple Crimson Azure Midnight Dawn Twilight Eternal Infinite Ancient
  Forgotten Hidden Sacred Cursed Broken Fallen Rising Burning Frozen Silent Furious Mighty Little Big
  Giant Mini Mega Hyper Ultra Neo Max Extreme Advance Special Plus Gold Collection Classics Anthology
  Trilogy Chronicles Saga Tales Origins Legacy Revenge Return Rise Fall Rebirth Revolution Evolution
  Invasion Conquest Crusade Siege Assault Strike Commando Soldier Warrior Guardian Defender Avenger
  Ranger Rebel Outlaw Bandit Assassin Samurai Shogun Emperor Queen Prince Princess Lord Baron Captain
  Doctor Professor Detective Agent Spy Driver Rider Pilot Racer Skater Surfer Boxer Wrestler Runner
  Jumper Builder Tycoon Manager Simulator Academy School Hospital Hotel Restaurant Kitchen Farm Garden
  Zoo Circus Casino Poker Chess Mahjong Pinball Billiards Bowling Darts Fishing Hunting Boxing Hockey
  Basketball Football Volleyball Cricket Skiing Snowboard Motocross Karts Trucks Tanks Planes Copter
  Submarine Rocket Galaxy Universe Nova Comet Orbit Gravity Laser Photon Quantum Cyber Circuit Code
  Zero One Two Three Seven Nine Hundred Thousand Million First Second Third Last Next New Old Young
  Happy Lucky Funky Crazy Mad Dizzy Jolly Merry Sweet Sour Cookie Candy Chocolate Banana Melon Apple
  Cherry Lemon Penguin Panda Tiger Lion Wolf Fox Bear Rabbit Turtle Frog Duck Shark Whale Dolphin
  Spider Beetle Butterfly Dinosaur Unicorn Phoenix Griffin Hydra Titan Golem Zombie Vampire Mummy
  Werewolf Alien Mutant Clone Android Machine Engine Gear Wheel Key Door Gate Bridge Road Highway
  Tunnel Maze Labyrinth Mirror Mask Crown Ring Shield Arrow Hammer Axe Gun Bullet Bomb Cannon Missile
  Rhythm Music Dance Song Melody Guitar Drum Stage Idol Love Kiss Wedding Family Baby Kids Friends
  Learn Count Paint Draw Color Letters Numbers Brain Memory Quiz Trivia Word Block Bubble Marble Tile
`);
const JOINERS = list('of the and in to for vs. with from on');
const ARTICLES = list("The The The The A An Le La L' Die Der Das El Los Il");
const FOREIGN = list(`
  Été Château Über Straße Señor Niño Façade Garçon Forêt Éclair Crème Jäger Schloß Krümel Łódka Żaba
  Ødemark Ærø Åsgard Þórr Česko Žena Șarpe Ağaç Işık Müller Café Naïve Élan Pâté Zoë Noël Döner
  Ковчег Метель Воин Αργώ Λαβύρινθος Τιτάνας
`);

const KANJI = [
  ...'戦国伝説大剣龍王神魔天空地海風火水光闇夢心愛花月星夜城学園物語記録探偵事件殺人島旅人英雄',
  ...'騎士忍者侍姫鬼妖精霊機動兵器鉄道電車競馬野球麻雀将棋囲碁料理音楽少女少年新真超極最終第章',
];
const KATAKANA = [
  ...'アイウエオカキクケコサシスセソタチツテトナニノハヒフヘホマミムメモラリルレロワガギグゲゴザジズゼゾダデドバビブベボパピプペポ',
];
const KATAKANA_AFTER = [...'ーンッャュョイ'];
const HIRAGANA = [
  ...'あいうえおかきくけこさしすせそたちつてとなにのはひふへほまみむめもやゆよらりるれろわがぎぐげござじずぜぞだでどばびぶべぼ',
];
const HANZI = [
  ...'三国英雄传说战争龙剑侠天下江湖风云仙境奇幻魔法机器人世界冒险王者荣耀梦想西游记水浒红楼',
];
const HANGUL = [
  ...'가나다라마바사아자차카타파하구누두루무부수우주전설의용사대모험왕국마법검별빛꿈',
];

const ONSETS = list(
  'b br c cr d dr f fl g gr h j k kr l m n p pr qu r s sh sk st t th tr v w x y z',
);
const RHYMES = list('a an ar e el en er i in ir o ol on or u un ai ea ia os us ax ex ix orn and');
const SYLLABLES = ONSETS.length * RHYMES.length;
/** About this many names have two syllables; all others have three. */
const SHORT_NAMES = 20_000;
const NAMES = 900_000;

/**
 * Makes random numbers below `count`. Small ones are far more frequent, like common words in texts.
 * @param flat about how many of the smallest numbers are equally frequent
 */
export function makeSkew(count: number, flat: number): (random: Random) => number {
  // Each stretch is twice as wide as the one before and equally frequent. Unlike a logarithm, this
  // arithmetic is exact, and so the same on every machine.
  let stretches = 0;
  let start = 0;
  let width = flat;
  while (start + width < count) {
    start += width;
    width *= 2;
    stretches++;
  }
  const total = stretches + (count - start) / width;
  return (random) => {
    const position = random.next() * total;
    const stretch = Math.floor(position);
    const scale = flat * 2 ** stretch;
    return Math.floor(scale - flat + (position - stretch) * scale);
  };
}

/** The invented name for a number from 0 to about a million. Different numbers mostly differ in name. */
export function nameOf(number: number): string {
  const syllables = number < SHORT_NAMES ? 2 : 3;
  // Scattered, so that names of neighbouring numbers do not look alike.
  let rest = (number * 46_573) % SYLLABLES ** syllables;
  let name = '';
  for (let left = syllables; left > 0; left--) {
    const syllable = rest % SYLLABLES;
    rest = Math.floor(rest / SYLLABLES);
    name += ONSETS[syllable % ONSETS.length];
    name += RHYMES[Math.floor(syllable / ONSETS.length)];
  }
  return name[0].toUpperCase() + name.slice(1);
}

const pickCommonIndex = makeSkew(COMMON.length, 20);
const pickJoinerIndex = makeSkew(JOINERS.length, 2);
const pickNameIndex = makeSkew(NAMES, 60);

/** A word of a title: a common word or a name. */
export function pickWord(random: Random): string {
  if (random.happens(0.6)) return COMMON[pickCommonIndex(random)];
  return nameOf(pickNameIndex(random));
}

export function pickJoiner(random: Random): string {
  return JOINERS[pickJoinerIndex(random)];
}

export function pickArticle(random: Random): string {
  return random.pick(ARTICLES);
}

/** A word with letters beyond ASCII, including Cyrillic and Greek. */
export function pickForeign(random: Random): string {
  return random.pick(FOREIGN);
}

export function makeKatakana(random: Random): string {
  let word = '';
  for (let left = 2 + random.below(4); left > 0; left--) {
    word += random.pick(KATAKANA);
    if (random.happens(0.4)) word += random.pick(KATAKANA_AFTER);
  }
  return word;
}

export function makeHiragana(random: Random): string {
  return pickRun(random, HIRAGANA, 2, 4);
}

export function makeKanji(random: Random): string {
  return pickRun(random, KANJI, 2, 3);
}

export function makeChinese(random: Random): string {
  return pickRun(random, HANZI, 2, 5);
}

export function makeKorean(random: Random): string {
  return pickRun(random, HANGUL, 2, 4);
}

function pickRun(
  random: Random,
  characters: readonly string[],
  least: number,
  more: number,
): string {
  let run = '';
  for (let left = least + random.below(more); left > 0; left--) run += random.pick(characters);
  return run;
}
