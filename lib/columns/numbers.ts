/**
 * Spaces of numbers, so that the compiler tells them apart. At run time, a number is a number. Only what makes or
 * opens a column says in which space its numbers are.
 */
declare const space: unique symbol;
export type In<Space extends string> = number & { readonly [space]: Space };

/** The number of a game: its index in the order of the packs. */
export type GameNumber = In<'number of a game'>;

/** The index of a game in title order over all platforms. */
export type Rank = In<'rank'>;

/** A column that leads from one space of numbers to another. At any other index, it has a plain number. */
export type Lookup<From extends number, To extends number> = Uint32Array & {
  readonly [N in From]: To;
};

/** A column that was made or opened, as one that leads from one space to another. */
export function lookupOf<From extends number, To extends number>(
  column: Uint32Array,
): Lookup<From, To> {
  return column as Lookup<From, To>;
}

/** Stands for a number that does not exist. */
export const NONE = 0xffff_ffff;
export type None = typeof NONE;

/** The number of a space that has an index. Only this function and those that make columns assert a space. */
export function numberAt<Space extends number>(index: number): Space {
  return index as Space;
}

/** The number after another one. */
export function next<Space extends number>(number: Space): Space {
  return numberAt(number + 1);
}
