/**
 * Tells targets that are asked for again from those that are asked for once: only the former are
 * worth a place among the hot ones. Who walks the whole catalogue would drive all others out of it,
 * and pay for every place it takes.
 */

/** How many targets are remembered; each of the others takes the place of one. */
const PLACES = 64 * 1024;

export interface Doorkeeper {
  /** Notes a target. @returns whether it was noted lately; rarely wrong, which costs only room */
  isKnown(target: string): boolean;
}

export function makeDoorkeeper(): Doorkeeper {
  const places = new Int32Array(PLACES);
  return {
    isKnown(target) {
      const hash = hashOf(target);
      const place = hash & (PLACES - 1);
      if (places[place] === hash) return true;
      places[place] = hash;
      return false;
    },
  };
}

function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return hash ^ (hash >>> 13);
}
