/** What a match needs to know of games, read from a generation and kept for one request. */

import type { GameFacts } from '../../find/match/find-matches.ts';
import { gameSlug, platformOf } from '../../lib/format/index/record-index.ts';
import { titlesOf } from '../../lib/format/index/titles.ts';
import { titleOfRecord } from '../../lib/format/pack.ts';
import { remember } from '../../lib/program/remember.ts';
import type { Generation, Records } from './generation.ts';

const FRONT = 'front';

/** The games of a generation. Each record is read once. */
export interface GamesReadOnce {
  readonly records: Records;
  /** The number of the platform of a game. */
  platform(game: number): number;
  /** What is known of the games for a file of these regions. */
  forRegions(regions: readonly string[]): GameFacts;
}

export function readGamesOnce(generation: Generation): GamesReadOnce {
  const { index, games, titles: alternatives, regionsOf, typeOf } = generation;
  const { firstCover } = index.games;
  const { region, type } = index.covers;
  const front = typeOf(FRONT);
  const record = remember((game: number) => {
    const bytes = Buffer.allocUnsafe(games.sizeOf(game, game + 1));
    games.copy(game, bytes.length, bytes, 0);
    return bytes;
  });
  const titles = remember((game: number): string[] => {
    const others = titlesOf(alternatives, game);
    return [
      titleOfRecord(record(game).toString()),
      ...(others === undefined ? [] : JSON.parse(Buffer.from(others).toString())),
    ];
  });
  return {
    records: {
      ...games,
      copy: (game, length, target, at) => record(game).copy(target, at, 0, length),
    },
    platform: (game) => platformOf(index.platforms, 'firstGame', game),
    forRegions(regions) {
      const wanted = regions.flatMap(regionsOf);
      return {
        titles,
        slug: (game) => gameSlug(index, game),
        releaseYear: (game) => JSON.parse(record(game).toString()).release_year,
        frontRank(game) {
          let best: 0 | 1 | 2 = 2;
          for (let cover = firstCover[game]; cover < firstCover[game + 1]; cover++) {
            if (type[cover] !== front) continue;
            if (wanted.includes(region[cover])) return 0;
            best = 1;
          }
          return best;
        },
      };
    },
  };
}
