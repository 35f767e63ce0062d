/** The catalogue of tests of a whole one: in the full form, a real one if this machine has it. */
import type { Catalogue } from '#demo/catalogue/load.ts';
import { seededCatalogue } from '#test/catalogue/seeded.ts';
import { sharedCatalogue } from '#test/catalogue/shared.ts';
import { IS_FULL } from '#test/soak/rounds.ts';

/** @param games how many games it has if it is seeded, in the full form and in the quick one */
export function wholeCatalogue(games: { full: number; quick: number }): {
  readonly catalogue: Catalogue;
  readonly kind: 'real' | 'seeded';
} {
  const real = IS_FULL ? sharedCatalogue() : undefined;
  if (real !== undefined) return { catalogue: real, kind: 'real' };
  const seeded = seededCatalogue({ games: IS_FULL ? games.full : games.quick, seed: 1 });
  return { catalogue: seeded, kind: 'seeded' };
}
