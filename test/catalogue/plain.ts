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

/** 50 games, none of which has a name of the sample: as the catalogue of a new user may be. */
export function otherCatalogue(): Catalogue {
  const things = ['Lantern', 'Harbour', 'Meadow', 'Orchard', 'Thicket'];
  const kinds = 'Amber Brisk Crimson Dusty Early Faded Gilded Hollow Inner Jolly'.split(' ');
  const titles = kinds.flatMap((kind) =>
    things.map((thing) => `The ${kind} ${thing}'s Tale: Part II`),
  );
  const games = titles.map((title, i): Row => {
    const slug = `tale-${i + 1}`;
    return [
      i + 1,
      (i % 3) + 1,
      slug,
      title,
      2001 + (i % 9),
      null,
      i % 2 ? 'Puzzle' : null,
      null,
      null,
    ];
  });
  const covers = games.map(([id]): Row => {
    return [id, id, Number(id) % 3 ? 'Europe' : null, 'front', 'approved', '2026-01-02 03:04:05'];
  });
  return {
    platforms: ['quartz', 'quartz-2', 'pebble_mini'].map(
      (slug, i): Row => [i + 1, slug, `The ${slug} & Co.`],
    ),
    games,
    covers: [...covers, [60, 7, 'Europe', 'back', 'approved', '2026-01-03 03:04:05']],
    coverFiles: [...covers, [60]].map(
      ([id], i): Row => [i + 1, id, 'full', 'image/png', 600, 800, 9000, `a/${id}.png`],
    ),
    accounts: [],
  };
}
