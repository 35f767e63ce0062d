/**
 * Finds the game that a file name means: by what the name says, and only without success by what else it may
 * mean. A guess counts only if it leaves exactly one game.
 *
 * Invariant: whatever the name is, the work for it is bounded by a count. It is done in steps of about a millisecond.
 */
import type { GameNumber } from '../../lib/columns/numbers.ts';
import { numbersWithId } from '../names/external-ids.ts';
import type { PlatformNames } from '../names/platform-names.ts';
import { wordsOf } from '../text/words.ts';
import { Budget, COST } from './budget.ts';
import { makeCatalogue, type TitlesOfPlatforms } from './catalogue.ts';
import {
  findMatches,
  type GameFacts,
  isOneGame,
  type Match,
  type MatchedGame,
  MOST_CANDIDATES,
} from './find-matches.ts';
import { guessNames } from './guess-names.ts';
import type { MatchIndex } from './open.ts';
import { type NameReading, readName, splitExtension } from './read-name.ts';

/** Names have the years of later releases, but one that is further away is that of another game. */
const MOST_YEARS_APART = 5;
/** As in `Title.part1.rar`. */
const MOST_EXTENSIONS = 2;

/** What must be known of the games besides the index. */
export interface MatchedGames {
  /** The number of the platform of a game. */
  platform(game: GameNumber): number;
  /** What is known of the games for a file of these regions. */
  forRegions(regions: readonly string[]): GameFacts;
}

/** What a name says, and the game that it means. */
export interface NameMatch {
  readonly reading: NameReading;
  readonly match: Match;
}

/** Finds games among those of some platforms. */
export interface Matcher {
  /** @param text an id of another source, such as `serial:SLUS-20851` */
  ofId(text: string): Match;
  /** @param name of a file @returns the steps, and then the match */
  ofName(name: string): Generator<void, NameMatch>;
}

/** @param platforms their numbers; for ids, none stands for all */
export function makeMatcher(
  index: MatchIndex,
  platforms: readonly number[],
  games: MatchedGames,
  platformNames: Pick<PlatformNames, 'find'>,
): Matcher {
  const { gameIds } = index;
  const onPlatforms = (game: GameNumber) =>
    platforms.length === 0 || platforms.includes(games.platform(game));
  const ofId = (text: string): Match => {
    const [found, ...others] = numbersWithId<GameNumber>(gameIds, text)
      .filter(onPlatforms)
      .map((game) => ({ kind: 'id' as const, game }));
    return { found, candidates: others.slice(0, MOST_CANDIDATES) };
  };
  const context = {
    forRegions: games.forRegions,
    namesPlatform: (name: string) =>
      platformNames.find(name).some((number) => platforms.includes(number)),
  };
  return {
    ofId,
    *ofName(name) {
      const reading = readName(name);
      if (reading.serial !== null) {
        const match = ofId(`serial:${reading.serial}`);
        if (match.found !== undefined) return { reading, match };
      }
      const budget = new Budget();
      budget.spend(name.length * COST.letter);
      const catalogue = makeCatalogue({ index, platforms, budget }, context.forRegions([]));
      const best = yield* findBest(name, reading, catalogue, context);
      const byTitle = budget.isSpent ? { ...best, match: withoutUnsure(best.match) } : best;
      if (byTitle.match.found !== undefined || gameIds.entries.length === 0) return byTitle;
      // The short names of arcade games, as MAME and its software lists have them.
      const match = ofId(`mame:${byTitle.reading.title}`);
      return match.found === undefined ? byTitle : { reading: byTitle.reading, match };
    },
  };
}

interface NameContext extends Pick<MatchedGames, 'forRegions'> {
  /** Whether a text is a name of one of the platforms. */
  namesPlatform(name: string): boolean;
}

/** @param first what the name says */
function* findBest(
  name: string,
  first: NameReading,
  catalogue: TitlesOfPlatforms,
  context: NameContext,
): Generator<void, NameMatch> {
  const { budget } = catalogue;
  const read = (text: string) => {
    budget.spend(text.length * COST.letter);
    return readName(text);
  };
  function* find(reading: NameReading, guess?: 'title' | 'part'): Generator<void, NameMatch> {
    const games = context.forRegions(reading.regions);
    const match = yield* findMatches(catalogue, reading, games, guess);
    return { reading, match: withoutFarYear(match, reading.year, games) };
  }
  const facts = context.forRegions([]);
  const isBy = (game: GameNumber, company: string | null) => {
    const name = ` ${wordsOf(company ?? '').join(' ')}`;
    return (
      company === null ||
      facts.companies(game).some((of) => ` ${wordsOf(of).join(' ')}`.includes(name))
    );
  };
  /** The game that a guess leaves, if it is the only one that has the title. */
  const onlyGame = ({ found, candidates }: Match): GameNumber | undefined => {
    const others = candidates.filter(({ kind }) => kind !== 'part').map(({ game }) => game);
    return found !== undefined && isOneGame([found.game, ...others], facts)
      ? found.game
      : undefined;
  };
  let reading = first;
  let rest = name;
  for (let count = 0; count < MOST_EXTENSIONS && reading.titles.length > 0; count++) {
    const split = splitExtension(rest);
    if (split === undefined) break;
    rest = split.rest;
    // An extension that the table has was not read.
    if (!reading.title.toLowerCase().endsWith(split.extension)) continue;
    const whole = yield* find({ ...reading, titles: [reading.title], withTags: [] }, 'title');
    if (whole.match.found?.kind === 'exact') return whole;
    reading = read(rest);
  }
  let best = yield* find(reading);
  if (best.match.found !== undefined || best.reading.isHack) return best;
  const { titles, withTags, regions } = reading;
  let shortest: NameReading | undefined;
  for (const guess of guessNames([...titles, ...withTags], context.namesPlatform)) {
    const shorter: NameReading = {
      ...reading,
      title: guess.title,
      titles: [guess.title],
      withTags: [],
      regions: [...new Set([...regions, ...guess.regions])],
      year: guess.year ?? first.year,
    };
    if (guess.company === null && lettersIn(guess.title) <= lettersIn((shortest ?? reading).title))
      shortest = shorter;
    const other = yield* find(shorter, 'title');
    if (budget.isSpent) return best;
    const game = onlyGame(other.match);
    if (game !== undefined && isBy(game, guess.company)) return other;
    if (best.match.candidates.length === 0 && guess.company === null)
      best = asCandidates(other, best);
  }
  if (shortest === undefined) return best;
  const other = yield* find(shortest, 'part');
  if (onlyGame(other.match) !== undefined) return other;
  return best.match.candidates.length === 0 ? asCandidates(other, best) : best;
}

function lettersIn(title: string): number {
  return title.replace(/[\s_.,-]/g, '').length;
}

/** A match whose games are all candidates, of a name that was read in another way. */
function asCandidates(
  { match: { found, candidates } }: NameMatch,
  { reading }: NameMatch,
): NameMatch {
  const all = found === undefined ? candidates : [found, ...candidates];
  return { reading, match: { found: undefined, candidates: all.slice(0, MOST_CANDIDATES) } };
}

/** What is left of a match if the budget was spent before other games were compared. */
function withoutUnsure({ found, candidates }: Match): Match {
  const isSure = ({ kind }: MatchedGame) => kind !== 'near' && kind !== 'part';
  const sure = found !== undefined && isSure(found) ? found : undefined;
  return { found: sure, candidates: candidates.filter(isSure) };
}

/** A match whose only game was released in quite another year is a candidate. */
function withoutFarYear(match: Match, year: number | null, facts: GameFacts): Match {
  const { found, candidates } = match;
  if (found === undefined || candidates.length > 0 || year === null) return match;
  const released = facts.releaseYear(found.game) ?? year;
  if (Math.abs(released - year) <= MOST_YEARS_APART) return match;
  return { found: undefined, candidates: [found] };
}
