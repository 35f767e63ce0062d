/**
 * Random titles and descriptions that are as messy as real ones. The frequency of each oddity follows real
 * catalogues of games, but the rarest ones are more frequent, so that small catalogues also have them.
 * Words are a few common ones and an endless supply of invented names, so that the vocabulary grows with
 * the catalogue. Every title has 1 to 500 characters and is not blank.
 */
import type { Random } from '#demo/catalogue/random.ts';

/** The size of the column. */
const LONGEST_TITLE = 500;
const LONGEST_DESCRIPTION = 7_500;

const list = (text: string): readonly string[] => text.trim().split(/\s+/);

// The most frequent words first.
const COMMON = list(`
  Super World Battle Star Dragon Game Quest Space Adventure Pro Man Racing Soccer Hero War Power Fighter
  Magic Master Force Final Legend Night City Dark Island King Ball Attack Story Baseball Mission Ninja
  Sword Rally Golf Deluxe Action Tennis Team Turbo Robot Castle Planet Moon Puzzle Park Mystery Fantasy
  Shadow Golden Secret Tower Blade Cosmic Wild Zone Fire Street Heart Hunter Kingdom Lost Monster Danger
  Escape Arena Champion League Cup Challenge Edition Party Club Train Knight Blood Crystal Diamond Demon
  Devil Angel Spirit Soul Ghost Witch Wizard Dungeon Temple Treasure Pirate Ship Ocean River Mountain
  Forest Desert Winter Storm Thunder Lightning Ice Flame Sun Sky Rainbow Stone Iron Silver Black White Red
  Blue Green Midnight Twilight Eternal Infinite Ancient Forgotten Hidden Sacred Fallen Rising Frozen
  Furious Mighty Little Giant Mini Mega Hyper Ultra Neo Extreme Advance Special Gold Collection Chronicles
  Tales Origins Legacy Revenge Return Rebirth Revolution Evolution Invasion Conquest Commando Soldier
  Warrior Guardian Ranger Samurai Emperor Princess Captain Professor Detective Agent Driver Pilot Tycoon
  Manager Simulator Academy Restaurant Pinball Fishing Hockey Basketball Football Volleyball Snowboard
  Submarine Galaxy Universe Gravity Quantum One Two Seven Thousand First Second Happy Crazy Candy
  Chocolate Penguin Dinosaur Unicorn Phoenix Vampire Labyrinth Highway Rhythm Memory Marble
`);
const JOINERS = list('of the and in to for vs. with from on');
const ARTICLES = list("The The The The A An Le La L' Die Der Das El Los Il");
const FOREIGN = list(`
  Été Château Über Straße Señor Niño Façade Garçon Forêt Éclair Crème Jäger Schloß Łódka Żaba Ødemark Ærø
  Åsgard Þórr Česko Șarpe Ağaç Işık Müller Naïve Noël Ковчег Метель Воин Αργώ Λαβύρινθος Τιτάνας
`);
const KANJI = [
  ...'戦国伝説大剣龍王神魔天空地海風火水光闇夢心愛花月星夜城学園物語記録探偵事件殺人島旅人英雄騎士',
];
const KATAKANA = [
  ...'アイウエオカキクケコサシスセソタチツテトナニハヒフヘホマミムメモラリルレロワガギグゲゴザジダデドバビブベボパピプペポ',
];
const KATAKANA_AFTER = [...'ーンッャュョイ'];
const HIRAGANA = [
  ...'あいうえおかきくけこさしすせそたちつてとなにのはひふへほまみむめもやゆよらりるれろわがぎぐげご',
];
const HANZI = [...'三国英雄传说战争龙剑侠天下江湖风云仙境奇幻魔法机器人世界冒险王者荣耀'];
const HANGUL = [
  ...'가나다라마바사아자차카타파하구누두루무부수우주전설의용사대모험왕국마법검별빛꿈',
];
const ROMAN = ['II', 'III', 'IV', 'V', 'VI', 'VII', 'VIII', 'IX', 'X', 'XIII'];
const SHORT = ['X', 'Q', 'Go', '7', '!', '?', '...', '4x4', 'Ō', '龍', 'ν', 'D+', 'Z²'];
const SYMBOLS = ['™', '®', '½', '²', '³', '°', ' ★', '♥', ' ∞', '…', ' №5', '×2', ' 🎮', ' 👩‍🚀'];
const NOTES = ['(Demo)', '(Beta)', '(2nd Edition)', '(Part 1)', '[Proto]', 'Deluxe', 'DX', 'HD'];
const ACCENTED = ['aá', 'eé', 'ií', 'oö', 'uü', 'cç', 'nñ'];
const ODD_MARKS = [
  ...['\n\n', ' "quoted" ', '\t', ' \\ ', ' </script> ', '\u2028', ' 🎮 ', ' & ', '\r\n'],
];

const ONSETS = list(
  'b br c cr d dr f fl g gr h j k kr l m n p pr qu r s sh sk st t th tr v w x y z',
);
const RHYMES = list('a an ar e el en er i in ir o ol on or u un ai ea ia os us ax ex ix orn and');
const SYLLABLES = ONSETS.length * RHYMES.length;
/** About this many names have two syllables; all others have three. */
const SHORT_NAMES = 20_000;
const NAMES = 900_000;

/** A number below `count`. Small ones are far more frequent, like common words in texts. */
export function skewed(random: Random, count: number): number {
  // Products are exact, and so the same on every machine, unlike powers and logarithms.
  return Math.floor(random.next() * random.next() * random.next() * count);
}

/** The invented name for a number below 900,000. Different numbers mostly differ in name. */
export function nameOf(number: number): string {
  const syllables = number < SHORT_NAMES ? 2 : 3;
  // Scattered, so that names of neighbouring numbers do not look alike.
  let rest = (number * 46_573) % SYLLABLES ** syllables;
  let name = '';
  for (let left = syllables; left > 0; left--) {
    const syllable = rest % SYLLABLES;
    rest = Math.floor(rest / SYLLABLES);
    name += ONSETS[syllable % ONSETS.length] + RHYMES[Math.floor(syllable / ONSETS.length)];
  }
  return name[0].toUpperCase() + name.slice(1);
}

function pickWord(random: Random): string {
  if (random.happens(0.6)) {
    return COMMON[Math.floor(random.next() * random.next() * COMMON.length)];
  }
  return nameOf(skewed(random, NAMES));
}

type Make = (random: Random) => string;

/** Makes words of some of these characters. */
const wordOf =
  (characters: readonly string[], least: number, more: number): Make =>
  (random) => {
    let word = '';
    for (let left = least + random.below(more); left > 0; left--) word += random.pick(characters);
    return word;
  };
const makeKanji = wordOf(KANJI, 2, 3);
const makeHiragana = wordOf(HIRAGANA, 2, 4);
const makeChinese = wordOf(HANZI, 2, 5);
const makeKorean = wordOf(HANGUL, 2, 4);

function makeKatakana(random: Random): string {
  let word = '';
  for (let left = 2 + random.below(4); left > 0; left--) {
    word += random.pick(KATAKANA);
    if (random.happens(0.4)) word += random.pick(KATAKANA_AFTER);
  }
  return word;
}

function makeJapaneseWord(random: Random): string {
  return random.pick([makeKatakana, makeKatakana, makeKanji, makeHiragana])(random);
}

/** Kinds of titles with their shares. All other titles are in Latin letters. */
const KINDS: readonly (readonly [share: number, make: Make])[] = [
  [0.04, makeJapanese],
  [0.003, (random) => `${makeKorean(random)} ${makeKorean(random)}`],
  [0.003, makeChinese],
  [0.002, (random) => widened(makeLatin(random))],
  [0.001, (random) => String(random.below(random.pick([10, 100, 2_100, 100_000])))],
  [0.001, (random) => random.pick(SHORT)],
  [0.0007, makeLong],
];

/** A title. */
export function makeTitle(random: Random): string {
  let share = random.next();
  for (const [kindShare, make] of KINDS) {
    if (share < kindShare) return make(random);
    share -= kindShare;
  }
  return makeLatin(random);
}

function makeLatin(random: Random): string {
  let title = makePhrase(random, 1 + random.below(3));
  if (random.happens(0.11)) title += ` ${makeNumber(random)}`;
  if (random.happens(0.04)) title += ` ${random.pick(ROMAN)}`;
  if (random.happens(0.035)) {
    // Catalogues sort by the word after an article, so half of them move the article to the end.
    const article = random.pick(ARTICLES);
    if (random.happens(0.6)) title += `, ${article}`;
    else title = article.endsWith("'") ? article + title : `${article} ${title}`;
  }
  if (random.happens(0.25)) {
    const the = random.happens(0.18) ? 'The ' : '';
    title +=
      random.pick([' - ', ' - ', ' - ', ': ']) + the + makePhrase(random, 1 + random.below(4));
  }
  if (random.happens(0.037)) title += random.pick(['!', '!', '!', '!!']);
  if (random.happens(0.025)) title += ` ${1980 + random.below(47)}`;
  if (random.happens(0.02)) title += ` ${random.pick(NOTES)}`;
  if (random.happens(0.05)) title = title.toUpperCase();
  return random.happens(0.035) ? makeOdd(random, title) : title;
}

function makePhrase(random: Random, words: number): string {
  let phrase = pickWord(random);
  for (let left = words; left > 1; left--) {
    const chance = random.next();
    if (chance < 0.16) phrase += ` ${JOINERS[skewed(random, JOINERS.length)]}`;
    else if (chance < 0.2) phrase += "'s";
    else if (chance < 0.215) phrase += ' &';
    phrase += (chance > 0.985 ? '-' : ' ') + pickWord(random);
  }
  return phrase;
}

function makeNumber(random: Random): string {
  if (random.happens(0.6)) return String(2 + random.below(random.happens(0.8) ? 4 : 30));
  return random.pick([
    ...[`Vol. ${1 + random.below(20)}`, `#${1 + random.below(20)}`, `'${80 + random.below(20)}`],
    ...['64', '2000', '007', '3D', '1.5', '0', '1000000', '1/2'],
  ]);
}

function makeOdd(random: Random, title: string): string {
  return random.pick<() => string>([
    () => withAccent(random, title),
    () => withAccent(random, title),
    () => withAccent(random, title).normalize('NFD'),
    () => `${random.pick(FOREIGN)} ${title}`,
    () => `${random.pick(FOREIGN)} ${title}`,
    () => title + random.pick(SYMBOLS),
    () => title.replaceAll("'", '’').replace(' - ', ' – '),
    () => `${title} / ${makePhrase(random, 2)}`,
    () => [...title.slice(0, 6).replace(/\W/g, 'X')].join('.'),
    () => `"${title}"`,
    () => `${title}+`,
    () => `${title} ${makeKatakana(random)}`,
  ])();
}

function withAccent(random: Random, title: string): string {
  const [plain, accented] = random.pick(ACCENTED);
  return title.replace(plain, accented);
}

function makeJapanese(random: Random): string {
  let title = makeJapaneseWord(random);
  if (random.happens(0.3)) title += `の${makeJapaneseWord(random)}`;
  else if (random.happens(0.15)) title += `・${makeKatakana(random)}`;
  const chance = random.next();
  if (chance < 0.15) title += random.pick(['2', '３', 'II', 'Ⅱ', ' Vol.2', 'DX', '！']);
  else if (chance < 0.35) title += ` ${makeJapaneseWord(random)}`;
  else if (chance < 0.4) title += ` 〜${makeJapaneseWord(random)}〜`;
  else if (chance < 0.44) title = `${pickWord(random)} ${title}`;
  return title;
}

/** In full-width letters and digits. */
function widened(title: string): string {
  return title.replace(/[!-~]/g, (character) =>
    String.fromCharCode(character.charCodeAt(0) + 0xfee0),
  );
}

function makeLong(random: Random): string {
  const length = random.happens(0.3) ? LONGEST_TITLE : 150 + random.below(LONGEST_TITLE - 150);
  let title = makeLatin(random);
  while (title.length < length) title += `, ${makePhrase(random, 3)}`;
  // Cut between characters, and not at a space, because some databases strip trailing spaces.
  return title
    .slice(0, length)
    .replace(/[\ud800-\udbff]$/, '.')
    .replace(/ $/, '.');
}

/** A description: half are shorter than 400 characters, a few have thousands. */
export function makeDescription(random: Random): string {
  const share = random.next();
  let length = 60 + 1_450 * share * share;
  if (random.happens(0.02)) length = Math.min(length * 6, LONGEST_DESCRIPTION);
  const makeWord = random.happens(0.05) ? makeJapaneseWord : pickWord;
  let text = '';
  while (text.length < length) {
    text += makeWord(random);
    const chance = random.next();
    if (chance < 0.1) text += '. ';
    else if (chance < 0.2) text += ', ';
    else if (chance < 0.21) text += random.pick(ODD_MARKS);
    else if (chance < 0.6) text += ` ${random.pick(JOINERS)} `;
    else text += ' ';
  }
  return `${text.trimEnd()}.`;
}
