/**
 * The query sets that only the product answers by its own rules: in the order of relevance, and with
 * words that are joined, split, swapped or too many.
 */
import { cut, latinWord, type Make, misspell, type Sample, words } from './query-words.ts';

const WORDS = 8;
const PLATFORM_WORDS = ['snes', 'n64', 'ps1', 'genesis', 'game boy', 'dos'];

const byRelevance =
  (q: (sample: Sample, index: number) => string): Make =>
  (sample, index) => ({ q: cut(q(sample, index)), sort: 'relevance' });

export const RELEVANCE_SETS: readonly (readonly [name: string, make: Make])[] = [
  ['relevance: full title', byRelevance((sample) => words(sample, 1).join(' '))],
  ['relevance: two words', byRelevance((sample) => words(sample, 2).slice(0, 2).join(' '))],
  ['relevance: one word', byRelevance((sample) => latinWord(sample, 3))],
  ['relevance: one letter', byRelevance((sample) => latinWord(sample).slice(0, 1))],
  ['relevance: common words', byRelevance((sample) => commonWords(sample, 2))],
  ['relevance: no word', ({ random }) => ({ sort: 'relevance', page: 1 + random.below(100) })],
  ['as one types', byRelevance(beginning)],
  ['joined words', byRelevance(joinedWords)],
  ['split words', byRelevance((sample) => latinWord(sample, 6).replace(/^.{3}/, '$& '))],
  ['swapped letters', byRelevance((sample) => swapLetters(sample, latinWord(sample, 5)))],
  [
    'platform words',
    byRelevance((sample) => `${latinWord(sample, 3)} ${sample.random.pick(PLATFORM_WORDS)}`),
  ],
  ['one wrong word', byRelevance(withWrongWord)],
  ['hostile: common words', byRelevance((sample) => commonWords(sample, WORDS))],
  ['hostile: joined words', byRelevance((sample) => joinedCommonWords(sample))],
  ['hostile: near words', byRelevance((sample) => nearWords(sample))],
];

/** A title up to a random letter. */
function beginning(sample: Sample): string {
  const title = words(sample, 1).join(' ');
  return title.slice(0, 1 + sample.random.below(title.length));
}

/** A title with two of its words written as one. */
function joinedWords(sample: Sample): string {
  const title = words(sample, 2);
  const at = sample.random.below(title.length - 1);
  return title.toSpliced(at, 2, `${title[at]}${title[at + 1]}`).join(' ');
}

function swapLetters({ random }: Sample, word: string): string {
  const at = random.below(word.length - 1);
  return word.slice(0, at) + word[at + 1] + word[at] + word.slice(at + 2);
}

/** A title with a word that no title has. */
function withWrongWord(sample: Sample): string {
  const title = words(sample, 1);
  return title.toSpliced(sample.random.below(title.length + 1), 0, 'qxzwvk').join(' ');
}

function commonWord({ random, common }: Sample): string {
  return random.pick(common.slice(0, 60));
}

function commonWords(sample: Sample, count: number): string {
  return Array.from({ length: count }, () => commonWord(sample)).join(' ');
}

function joinedCommonWords(sample: Sample): string {
  return Array.from({ length: WORDS }, () => commonWord(sample) + commonWord(sample)).join(' ');
}

/** Common words with a wrong letter each, so that every one of them has near spellings. */
function nearWords(sample: Sample): string {
  const frequent = sample.common.slice(0, 400).filter((word) => word.length >= 5);
  return Array.from({ length: WORDS }, () => misspell(sample, sample.random.pick(frequent))).join(
    ' ',
  );
}
