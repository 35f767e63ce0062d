/**
 * The bound on the work for one name, counted in titles that are compared: hostile names against a catalogue
 * whose titles have the same letters in another order, so that an index alone tells none of them apart.
 */
import { closeSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { makeRandom } from '#demo/catalogue/random.ts';
import { type MatchedGames, makeMatcher } from '#find/match/find.ts';
import type { GameNumber } from '#lib/columns/numbers.ts';
import { CURRENT } from '#lib/format/layout.ts';
import { takeAll } from '#proxy/api/routes/route.ts';
import { readGames } from '#proxy/snapshot/game-facts.ts';
import { makeGeneration } from '#proxy/snapshot/generation.ts';
import { openFiles } from '#proxy/snapshot/open-files.ts';
import { catalogueOf, cover, game } from '#test/catalogue/plain.ts';
import { makeSnapshots } from '#test/catalogue/snapshots.ts';
import { atEndOfFile } from '#test/support/end-of-file.ts';

const PLATFORMS = 8;
/** About the count that a name may spend. */
const MOST_COMPARED = 300;
/** About the count between two pauses. */
const MOST_IN_STEP = 75;
const LETTERS = 'aabbccddeeffgghhiijjkkllmm';
const random = makeRandom(11);
const shuffled = () =>
  [...LETTERS]
    .map((letter) => ({ letter, at: random.next() }))
    .sort((a, b) => a.at - b.at)
    .map(({ letter }) => letter)
    .join('');

const lookalikes = Array.from({ length: 1600 }, shuffled);
const titles = [
  'Jikkyou Baseball',
  'Jikkyō Baseball',
  'The Silver Crater of Moon Cats',
  ...Array.from({ length: 600 }, (_, at) => `Common Head: Subtitle Number ${at}`),
  ...lookalikes,
];
const dir = realpathSync(
  path.join(
    await makeSnapshots(
      catalogueOf({
        platforms: Array.from({ length: PLATFORMS }, (_, i) => [i + 1, `p${i + 1}`, `P${i + 1}`]),
        games: titles.map((title, at) => game(at + 1, at < 603 ? 1 : (at % PLATFORMS) + 1, title)),
        covers: [cover(1)],
      }),
    ),
    CURRENT,
  ),
);
const files = openFiles({ dir, id: path.basename(dir) });
atEndOfFile(() => files.descriptors.forEach(closeSync));
const generation = makeGeneration(files);

/** Finds the game of a name. @returns what was found, and how many different games were compared, and in one step */
function find(name: string) {
  const games = readGames(generation);
  const compared = new Set<number>();
  const platforms = Array.from({ length: PLATFORMS }, (_, platform) => platform);
  const counted: MatchedGames = {
    ...games,
    forRegions(regions) {
      const facts = games.forRegions(regions);
      return {
        ...facts,
        titles(number) {
          compared.add(number);
          return facts.titles(number);
        },
      };
    },
  };
  const noNames = { find: () => [] };
  const steps = makeMatcher(generation.match, platforms, counted, noNames).ofName(name);
  const comparedBy: number[] = [];
  const next = () => {
    const result = steps.next();
    comparedBy.push(compared.size);
    return result;
  };
  const { match } = takeAll({ next });
  const titleOf = (number: GameNumber) => games.forRegions([]).titles(number)[0];
  return {
    kind: match.found?.kind ?? null,
    title: match.found && titleOf(match.found.game),
    candidates: match.candidates.map(({ kind, game: number }) => `${kind} ${titleOf(number)}`),
    compared: compared.size,
    mostInStep: Math.max(...comparedBy.map((count, step) => count - (comparedBy[step - 1] ?? 0))),
  };
}

const parts = (count: number, separator: string) =>
  Array.from({ length: count }, shuffled).join(separator);

test.each([
  ['parts', parts(6, '~')],
  ['parts with an extension', `${parts(6, ' ~ ')}.abc`],
  ['other titles in brackets', Array.from({ length: 6 }, () => `(aka ${shuffled()})`).join('')],
  ['subtitles', `${parts(3, ' - ')} ~ Common Head - ${shuffled()}`],
  ['halves of one letter', 'a~'.repeat(127)],
  ['letters that are words', '\ufdfa~'.repeat(127)],
  ['a common head in many parts', Array.from({ length: 9 }, () => 'Common Head - x').join('~')],
])('a name of %s compares about as many titles as the count allows', (_, name) => {
  const { compared, mostInStep } = find(name);
  expect(compared).toBeLessThanOrEqual(MOST_COMPARED);
  expect(mostInStep).toBeLessThanOrEqual(MOST_IN_STEP);
});

test('one letter may be wrong, if the other titles are not many', () => {
  const { kind, title, compared } = find('The Silver Crater of Moon Kats (USA).zip');
  expect([kind, title]).toEqual(['near', 'The Silver Crater of Moon Cats']);
  expect(compared).toBeLessThan(10);
});

test('a name that spends the count gets what was found by then, without near and part', () => {
  const misspelt = 'The Silver Crater of Moon Kats';
  expect(find(`${misspelt} ~ ${parts(6, '~')}`)).toMatchObject({ kind: null, candidates: [] });
  expect(find(`Jikkyoo Baseball ~ ${parts(6, '~')}`).candidates.toSorted()).toEqual([
    'same Jikkyou Baseball',
    'same Jikkyō Baseball',
  ]);
  expect(find(`Common Head ~ ${parts(6, '~')}`)).toMatchObject({ kind: null, candidates: [] });
});
