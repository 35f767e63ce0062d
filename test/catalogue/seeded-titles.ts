/**
 * Random titles that are as messy as real ones. The frequency of each oddity follows real catalogues
 * of games, but the rarest ones are more frequent, so that small catalogues also have them. Every
 * title has 1 to 500 characters and is not blank.
 */
import type { Random } from '../../demo/catalogue/random.ts';
import {
  makeChinese,
  makeHiragana,
  makeKanji,
  makeKatakana,
  makeKorean,
  pickArticle,
  pickForeign,
  pickJoiner,
  pickWord,
} from './seeded-words.ts';

/** The size of the column. */
const LONGEST_TITLE = 500;

const ROMAN = ['II', 'III', 'IV', 'V', 'VI', 'VII', 'VIII', 'IX', 'X', 'XIII'];
const SHORT = ['X', 'Q', 'Go', '7', '!', '?', '...', '4x4', 'Ō', '龍', 'ν', 'D+', 'Z²'];
const SYMBOLS = ['™', '®', '½', '²', '³', '°', ' ★', '♥', ' ∞', '…', ' №5', '×2'];
const EMOJI = ['🎮', '🚀', '👾', '🏎️', '👩‍🚀', '🐉', '⚽', '🇯🇵'];
const NOTES = ['(Demo)', '(Beta)', '(2nd Edition)', '(Limited)', '(Part 1)', '(Remix)', '[Proto]'];
const VOLUMES = ['Vol. ', 'Part ', 'Episode ', 'No. ', '#'];
const ENDINGS = ['Edition', 'Collection', 'Deluxe', 'DX', 'EX', 'HD', 'Plus', 'Demo', 'Advance'];
const ACCENTED: Readonly<Record<string, string>> = {
  a: 'á',
  e: 'é',
  i: 'í',
  o: 'ö',
  u: 'ü',
  c: 'ç',
  n: 'ñ',
};

type Make = (random: Random) => string;

/** Kinds of titles with their shares. All other titles are in Latin letters. */
const KINDS: readonly (readonly [share: number, make: Make])[] = [
  [0.04, makeJapanese],
  [0.003, (random) => joined(random, makeKorean, 3)],
  [0.003, (random) => joined(random, makeChinese, 2)],
  [0.002, (random) => widened(random, makeLatin(random))],
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
    const article = pickArticle(random);
    if (random.happens(0.6)) title += `, ${article}`;
    else title = article.endsWith("'") ? article + title : `${article} ${title}`;
  }
  if (random.happens(0.21)) title += ` - ${makeSubtitle(random)}`;
  else if (random.happens(0.045)) title += `: ${makeSubtitle(random)}`;
  if (random.happens(0.037)) title += random.happens(0.8) ? '!' : '!!';
  if (random.happens(0.025)) title += ` ${1980 + random.below(47)}`;
  if (random.happens(0.006)) title += ` ${random.pick(NOTES)}`;
  if (random.happens(0.05)) title = title.toUpperCase();
  return random.happens(0.035) ? makeOdd(random, title) : title;
}

function makePhrase(random: Random, words: number): string {
  let phrase = pickWord(random);
  for (let left = words; left > 1; left--) {
    const chance = random.next();
    if (chance < 0.16) phrase += ` ${pickJoiner(random)}`;
    else if (chance < 0.2) phrase += "'s";
    else if (chance < 0.215) phrase += ' &';
    phrase += chance > 0.985 ? '-' : ' ';
    phrase += pickWord(random);
  }
  return phrase;
}

function makeSubtitle(random: Random): string {
  const subtitle = makePhrase(random, 1 + random.below(4));
  const chance = random.next();
  if (chance < 0.18) return `The ${subtitle}`;
  if (chance < 0.3) return `${subtitle} ${random.pick(ENDINGS)}`;
  return subtitle;
}

function makeNumber(random: Random): string {
  const chance = random.next();
  if (chance < 0.6) return String(2 + random.below(random.happens(0.8) ? 4 : 30));
  if (chance < 0.75) return `${random.pick(VOLUMES)}${1 + random.below(20)}`;
  if (chance < 0.85) return `'${80 + random.below(20)}`;
  if (chance < 0.95) return random.pick(['64', '2000', '007', '3D', '1.5', '0', '1000000']);
  return `${random.below(10)}/${1 + random.below(9)}`;
}

function makeOdd(random: Random, title: string): string {
  const chance = random.next();
  if (chance < 0.45) return withAccent(random, title);
  if (chance < 0.65) return `${pickForeign(random)} ${title}`;
  if (chance < 0.75) return title + random.pick(SYMBOLS);
  if (chance < 0.8) return `${title} ${random.pick(EMOJI)}`;
  if (chance < 0.85) return title.replaceAll("'", '’').replace(' - ', ' – ');
  if (chance < 0.9) return `${title} / ${makePhrase(random, 2)}`;
  if (chance < 0.93) return [...title.slice(0, 6).replace(/\W/g, 'X')].join('.');
  if (chance < 0.96) return `"${title}"`;
  if (chance < 0.98) return `${title}+`;
  return `${title} ${makeKatakana(random)}`;
}

function withAccent(random: Random, title: string): string {
  const accented = title.replace(/[aeioucn]/, (letter) => ACCENTED[letter]);
  // Some sources write the accent as a separate character.
  return random.happens(0.1) ? accented.normalize('NFD') : accented;
}

function makeJapanese(random: Random): string {
  let title = makeJapaneseWord(random);
  if (random.happens(0.3)) title += `の${makeJapaneseWord(random)}`;
  else if (random.happens(0.15)) title += `・${makeKatakana(random)}`;
  const chance = random.next();
  if (chance < 0.15) title += random.pick(['2', '３', 'II', 'Ⅱ', ' Vol.2', 'DX']);
  else if (chance < 0.35) title += ` ${makeJapaneseWord(random)}`;
  else if (chance < 0.4) title += ` 〜${makeJapaneseWord(random)}〜`;
  else if (chance < 0.44) title = `${pickWord(random)} ${title}`;
  else if (chance < 0.47) title += '！';
  return title;
}

function makeJapaneseWord(random: Random): string {
  const chance = random.next();
  if (chance < 0.55) return makeKatakana(random);
  if (chance < 0.85) return makeKanji(random);
  return makeHiragana(random);
}

function joined(random: Random, make: Make, most: number): string {
  let title = make(random);
  for (let left = random.below(most); left > 0; left--) title += ` ${make(random)}`;
  return random.happens(0.2) ? `${title} ${2 + random.below(4)}` : title;
}

// Full-width letters and digits.
function widened(random: Random, title: string): string {
  const whole = random.happens(0.5) ? title : title.split(' ', 1)[0];
  return whole.replace(/[!-~]/g, (character) =>
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
