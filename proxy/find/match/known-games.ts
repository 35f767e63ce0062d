/** What a match needs to know of games, read from a generation and kept for one request. */
import { gameSlug, platformOf } from '../../../lib/format/index/record-index.ts';
import { titlesOf } from '../../../lib/format/index/titles.ts';
import { titleOf } from '../../../lib/format/pack.ts';
import type { Generation, Records } from '../../snapshot/generation.ts';
import { remember } from '../remember.ts';
import type { KnownGames } from './find-matches.ts';

const FRONT = 'front';

/** @returns `forRegions` makes the view for a name that has these regions; `records` are read once */
export function knownGames({ index, games, titles: alternatives, regionsOf, typeOf }: Generation) {
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
      titleOf(record(game).toString()),
      ...(others === undefined ? [] : JSON.parse(Buffer.from(others).toString())),
    ];
  });
  return {
    records: {
      ...games,
      copy: (game, length, target, at) => record(game).copy(target, at, 0, length),
    } satisfies Records,
    platform: (game: number) => platformOf(index.platforms, 'firstGame', game),
    forRegions(regions: readonly string[]): KnownGames {
      const wanted = regions.flatMap(regionsOf);
      return {
        titles,
        slug: (game) => gameSlug(index, game),
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
