/** Which covers show the front of a game: `has_cover` asks for one, and `include=cover` returns one. */

/** The types of these covers in lower case, the best first. */
export const FRONT_TYPES: readonly string[] = ['front'];

/** @param type of a cover, as the catalogue writes it */
export function isFront(type: string | null): boolean {
  return type !== null && FRONT_TYPES.includes(type.toLowerCase());
}
