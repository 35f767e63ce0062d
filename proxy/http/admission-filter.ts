/**
 * Tells targets that are asked for again from those that are asked for once: only the former are
 * worth a place among the hot ones. Who walks the whole catalogue would drive all others out of it,
 * and pay for every place it takes.
 */

import { slugHash } from '../../format/index/record-index.ts';

/** How many targets are remembered; each of the others takes the place of one. */
const PLACES = 8 * 1024;

export interface Doorkeeper {
  /** Notes a target. @returns whether it was noted lately; rarely wrong, which costs only room */
  isKnown(target: string): boolean;
}

export function makeDoorkeeper(): Doorkeeper {
  const places = new Uint32Array(PLACES);
  return {
    isKnown(target) {
      const hash = slugHash(0, target);
      const place = hash & (PLACES - 1);
      if (places[place] === hash) return true;
      places[place] = hash;
      return false;
    },
  };
}
