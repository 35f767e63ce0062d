/** Finds the games whose titles differ from those of a name in a few letters, but in no word and no number. */

import type { GameNumber } from '../../lib/columns/numbers.ts';
import { canBecome } from '../text/edit-distance.ts';
import { COST } from './budget.ts';
import { type Spelling, spellingOf, type TitlesOfPlatforms } from './catalogue.ts';
import type { LooseForms } from './forms.ts';
import { fewestEdits, findKeys, firstKeyOf, lettersOf } from './open.ts';

/** Shorter words that differ are other words: PV is not PIV. */
export const SHORTEST_SPELLING = 4;

/** How many letters of a form may be wrong. */
function mostEdits(length: number): number {
  return length < 8 ? 0 : length < 16 ? 1 : length < 26 ? 2 : 3;
}

/** @returns those with the fewest wrong letters; none once the budget is spent */
export function* findNear(
  { index, platforms, budget, spellingsOf }: TitlesOfPlatforms,
  wanted: readonly LooseForms[],
): Generator<void, GameNumber[]> {
  let best: GameNumber[] = [];
  let fewest = Number.POSITIVE_INFINITY;
  const { game: games, letters } = index.loose;
  const tried = new Set<string>();
  for (const { loose, lists } of wanted) {
    const [form = ''] = loose;
    const [words = []] = lists;
    const most = mostEdits(form.length);
    if (most === 0 || tried.has(form)) continue;
    tried.add(form);
    const ofForm = lettersOf(form);
    const spelling = spellingOf(form, words);
    for (const platform of platforms)
      for (let lengths = -most; lengths <= most; lengths++) {
        const low = firstKeyOf(form.length + lengths);
        const [from, to] = findKeys(
          index.loose,
          platform,
          low,
          firstKeyOf(form.length + lengths + 1),
        );
        if (!budget.spend(COST.lookUp + (to - from) * COST.letters)) return [];
        for (let at = from; at < to; at++) {
          const least = fewestEdits(letters[at], ofForm, Math.abs(lengths));
          if (least > Math.min(most, fewest)) continue;
          const spellings = spellingsOf(games[at]);
          if (!budget.spend(spellings.length)) return [];
          if (budget.takePause()) yield;
          const edits = editsBetween(spelling, spellings, most);
          if (edits > fewest) continue;
          if (edits < fewest) best = [];
          fewest = Math.min(fewest, edits);
          if (edits <= most && !best.includes(games[at])) best.push(games[at]);
        }
      }
  }
  return best;
}

/** @returns Infinity if numbers or whole words differ */
function editsBetween(one: Spelling, others: readonly Spelling[], most: number): number {
  let fewest = Number.POSITIVE_INFINITY;
  for (const other of others) {
    if (one.numbers !== other.numbers) continue;
    let edits = 0;
    while (edits <= most && !canBecome(one.codes, other.codes, edits, false)) edits++;
    if (edits <= most && edits < fewest && !hasOtherWord(one.words, other.words, edits))
      fewest = edits;
  }
  return fewest;
}

/** Whether two titles differ in a word rather than in its spelling: a word more, or too little in common. */
function hasOtherWord(words: readonly string[], others: readonly string[], edits: number): boolean {
  const rest = withoutWords(words, others).join('');
  const restOfOther = withoutWords(others, words).join('');
  const shorter = Math.min(rest.length, restOfOther.length);
  const longer = Math.max(rest.length, restOfOther.length);
  if (longer < SHORTEST_SPELLING || edits * 2 > shorter) return true;
  const [one, other] = [words.join(''), others.join('')];
  return lacksWord(words, other) || lacksWord(others, one);
}

/** The words less those that others have, each as often as they have it. */
function withoutWords(words: readonly string[], others: readonly string[]): string[] {
  const left = [...others];
  return words.filter((word) => {
    const at = left.indexOf(word);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}

/** Whether the text is that of the words without one of them. */
function lacksWord(words: readonly string[], text: string): boolean {
  return words.some((_, at) => words.toSpliced(at, 1).join('') === text);
}
