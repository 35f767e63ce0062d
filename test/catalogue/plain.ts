/** Minimal catalogues, for tests that break single rows of them. */

import type { Catalogue } from '#demo/catalogue/load.ts';
import type { Row } from '#lib/database/database.ts';

export const game = (id: number, platform: number, title = `Game ${id}`): Row => {
  return [id, platform, `g${id}`, title, null, null, null, null, null];
};
export const cover = (id: number, time: string | null = null, status = 'approved'): Row => {
  return [id, id, 'USA', 'front', status, time];
};

/** A number of games on eight platforms, each with a cover that has the same number. */
export function plainCatalogue(games: number): Catalogue & { readonly games: readonly Row[] } {
  const numbers = Array.from({ length: games }, (_, i) => i + 1);
  return {
    platforms: Array.from({ length: 8 }, (_, i): Row => [i + 1, `p${i + 1}`, `Platform ${i + 1}`]),
    games: numbers.map((n) => game(n, (n % 8) + 1)),
    covers: numbers.map((n) => cover(n, '2026-01-02 03:04:05')),
    coverFiles: [],
    accounts: [],
  };
}

/** A catalogue with nothing but these rows. */
export function catalogueOf(rows: Partial<Catalogue>): Catalogue {
  return { platforms: [], games: [], covers: [], coverFiles: [], accounts: [], ...rows };
}

/** Games with these slugs and titles on one platform. */
export function titledCatalogue(of: readonly (readonly [string, string, ...unknown[]])[]) {
  const games = of.map(([slug, title], i): Row => {
    return [i + 1, 1, slug, title, null, null, null, null, null];
  });
  // A first generation without any cover would be refused.
  const covers = games.slice(0, 1).map(() => cover(1));
  return catalogueOf({ platforms: [[1, 'one', 'One']], games, covers });
}
