/** The year, description, genres and companies of a seeded game; each may be null. */
import type { Random } from '../../demo/catalogue/random.ts';
import { makeKanji, makeKatakana, makeSkew, nameOf, pickJoiner, pickWord } from './seeded-words.ts';

const GENRES = [
  ...['Action', 'Adventure', 'Strategy', 'Sports', 'Puzzle', 'Platformer', 'Racing', 'Shooter'],
  ...['Role-playing (RPG)', 'Simulation', 'Fighting', "Shoot'em up", 'Educational', 'Music'],
  ...['Board game', 'Visual novel', 'アクション', 'Jeu de société', 'Beat ’em up', 'Horror'],
];
const pickGenreIndex = makeSkew(GENRES.length, 4);
const FIRMS = ['Soft', 'Games', 'Interactive', 'Entertainment', 'Co., Ltd.', '& Sons', 'Éditions'];
const ODD_MARKS = [
  '\n\n',
  ' "quoted" ',
  '\t',
  ' \\ ',
  ' </script> ',
  '\u2028',
  ' 🎮 ',
  '…',
  ' & ',
  '\r\n',
];
const LONGEST_DESCRIPTION = 7_500;

/** About a tenth of the games have no year. Recent decades have more games. */
export function makeYear(random: Random): number | null {
  if (random.happens(0.1)) return null;
  return 2026 - Math.floor(52 * random.next() * Math.max(random.next(), random.next()));
}

/** One game in twenty has a description: half are shorter than 400 characters, a few have thousands. */
export function makeDescription(random: Random): string | null {
  if (!random.happens(0.05)) return null;
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
    else if (chance < 0.6) text += ` ${pickJoiner(random)} `;
    else text += ' ';
  }
  return `${text.trimEnd()}.`;
}

export function makeGenres(random: Random): string | null {
  if (random.happens(0.5)) return null;
  const genres: string[] = [];
  while (genres.length === 0 || (genres.length < 4 && random.happens(0.4))) {
    const genre = GENRES[pickGenreIndex(random)];
    if (!genres.includes(genre)) genres.push(genre);
  }
  return genres.join(', ');
}

/** @param games number of games in the whole catalogue; more games have more companies */
export function makeCompany(random: Random, games: number): string | null {
  if (random.happens(0.4)) return null;
  const share = random.next();
  // A few companies have made hundreds of games, most have made two or three.
  const number = Math.floor(share * share * share * (20 + games / 10));
  return `${nameOf((number * 31 + 7) % 900_000)} ${FIRMS[number % FIRMS.length]}`;
}

function makeJapaneseWord(random: Random): string {
  return random.happens(0.5) ? makeKatakana(random) : makeKanji(random);
}
