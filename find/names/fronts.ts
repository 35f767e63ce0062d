/**
 * Which covers show the front of a game: `has_cover` asks for one, `include=cover` returns one, and `/match` prefers
 * games that have one. The owner of a catalogue names their types in FRONT_TYPES.
 */
import { foldCase } from '../text/words.ts';

/** The types of fronts in a catalogue whose owner has named none. */
export const USUAL_FRONT_TYPES: readonly string[] = ['front'];

/** @param frontTypes in any case @param type of a cover, as the catalogue writes it */
export function isFrontType(frontTypes: readonly string[], type: string | null): boolean {
  return type !== null && frontTypes.some((front) => foldCase(front) === foldCase(type));
}
