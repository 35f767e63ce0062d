/** Which words count as the same word, and which are near spellings of each other. */

const ROMAN = 'ii iii iv v vi vii viii ix x xi xii xiii xiv xv xvi xvii xviii xix xx'.split(' ');
const EQUAL_PAIRS: readonly (readonly [string, string])[] = [
  ...ROMAN.map((numeral, i) => [numeral, String(i + 2)] as const),
  ['bros', 'brothers'],
  ['vs', 'versus'],
  ['dr', 'doctor'],
  ['mr', 'mister'],
  ['st', 'saint'],
  ['vol', 'volume'],
  ['pt', 'part'],
  ['jr', 'junior'],
  ['sr', 'senior'],
  ['mt', 'mount'],
  ['ver', 'version'],
  ['ed', 'edition'],
  ['ep', 'episode'],
  ['intl', 'international'],
  ['n', 'and'],
  ['1st', 'first'],
  ['2nd', 'second'],
  ['3rd', 'third'],
];

/** A word and every word that counts as the same. */
export function equalWords(word: string): string[] {
  return [
    word,
    ...EQUAL_PAIRS.filter((pair) => pair.includes(word)).map(([a, b]) => (a === word ? b : a)),
    ...otherLongVowels(word),
  ];
}

const CONSONANTS = 'k kk s ss t tt p pp g z d b n h m r f j w y sh ssh ch tch cch ts tts'.split(
  ' ',
);
const SYLLABLES = ['', ...CONSONANTS, ...CONSONANTS.map((consonant) => `${consonant}y`)].flatMap(
  (start) => [...'aiueo'].map((vowel) => start + vowel),
);
const ENGLISH = ['boo', 'doo', 'goo', 'moo', 'too', 'yoo', 'zoo', 'moose'];

/** Whether a word can be cut into syllables of romanised Japanese. */
function isRomanised(word: string): boolean {
  if (word === '') return true;
  return (
    SYLLABLES.some(
      (syllable) => word.startsWith(syllable) && isRomanised(word.slice(syllable.length)),
    ) ||
    (/^n(?![aiueoy])|^m[bp]/.test(word) && isRomanised(word.slice(1)))
  );
}

/** The other spellings of a word in romanised Japanese: "ou" and "oo", of which three can differ. */
function otherLongVowels(word: string): string[] {
  if (!/o[ou]/.test(word) || !isRomanised(word)) return [];
  if (ENGLISH.includes(word.replace(/o[ou]/g, 'oo'))) return [];
  const places = [...word.matchAll(/o[ou]/g)].map(({ index }) => index + 1).slice(0, 3);
  const spellings = places.reduce(
    (all, at) =>
      all.flatMap((text) => ['u', 'o'].map((end) => text.slice(0, at) + end + text.slice(at + 1))),
    [word],
  );
  return spellings.filter((spelling) => spelling !== word);
}

/** Every way to write words together: an equal word of each, in order. */
export function writtenTogether(words: readonly string[]): Set<string> {
  let starts = [''];
  for (const word of words) {
    starts = starts.flatMap((start) => equalWords(word).map((equal) => start + equal));
  }
  return new Set(starts);
}

/** Whether a word of a title is near enough to a word of a query to be what was meant. */
export function isNearSpelling(titleWord: string, queryWord: string): boolean {
  const letters = [...queryWord].length;
  if (letters < 4 || /^\p{N}+$/u.test(queryWord)) return false;
  if (digitsOf(titleWord) !== digitsOf(queryWord)) return false;
  const most = letters < 8 ? 1 : 2;
  // Only to be faster: every letter more or less is an edit.
  if (Math.abs([...titleWord].length - letters) > most) return false;
  return editDistance(titleWord, queryWord) <= most;
}

function digitsOf(word: string): string {
  return (word.match(/\p{N}/gu) ?? []).join('');
}

/**
 * The optimal string alignment distance: how many letters (code points) must be inserted, deleted,
 * replaced or swapped with their neighbours.
 */
export function editDistance(from: string, to: string): number {
  const a = [...from];
  const b = [...to];
  // distance[i][j] is that between the first i letters of a and the first j of b.
  const distance = a.concat('').map((_, i) => b.concat('').map((_, j) => (i === 0 ? j : i)));
  for (let i = 1; i <= a.length; i++) {
    for (let j = 1; j <= b.length; j++) {
      distance[i][j] = Math.min(
        distance[i - 1][j] + 1,
        distance[i][j - 1] + 1,
        distance[i - 1][j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1),
      );
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        distance[i][j] = Math.min(distance[i][j], distance[i - 2][j - 2] + 1);
      }
    }
  }
  return distance[a.length][b.length];
}
