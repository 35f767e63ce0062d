/** What a match needs to know of games, read from a generation. Their titles are kept for one request. */

import type { MatchedGames } from '../../find/match/find.ts';
import type { GameNumber } from '../../lib/columns/numbers.ts';
import { gameSlug, platformOf } from '../../lib/format/index/record-index.ts';
import { titlesOf } from '../../lib/format/index/titles.ts';
import { titleOfRecord } from '../../lib/format/pack.ts';
import { remember } from '../../lib/program/remember.ts';
import type { Generation } from './generation.ts';

export function readGames(generation: Generation): MatchedGames {
  const { index, games, titles: alternatives, regionsOf, frontTypes, typeOf } = generation;
  const { firstCover } = index.games;
  const { region, type } = index.covers;
  const fronts = frontTypes.map(typeOf);
  const recordOf = (game: GameNumber): string => games.body(game).bytes.toString();
  const titles = remember((game: GameNumber): string[] => {
    const others = titlesOf(alternatives, game);
    return [
      titleOfRecord(recordOf(game)),
      ...(others === undefined ? [] : JSON.parse(Buffer.from(others).toString())),
    ];
  });
  return {
    platform: (game) => platformOf(index.platforms, 'firstGame', game),
    forRegions(regions) {
      const wanted = regions.flatMap(regionsOf);
      return {
        titles,
        slug: (game) => gameSlug(index, game),
        releaseYear: (game) => JSON.parse(recordOf(game)).release_year,
        companies(game) {
          const { developer, publisher } = JSON.parse(recordOf(game));
          return [developer, publisher].filter((name) => name !== null);
        },
        frontRank(game) {
          let best: 0 | 1 | 2 = 2;
          for (let cover = firstCover[game]; cover < firstCover[game + 1]; cover++) {
            if (!fronts.includes(type[cover])) continue;
            if (wanted.includes(region[cover])) return 0;
            best = 1;
          }
          return best;
        },
      };
    },
  };
}
