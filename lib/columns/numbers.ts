/**
 * The spaces of numbers by which games are known, so that the compiler tells them apart. They cost nothing at
 * run time. Only what opens a column or finds games says in which space a number is.
 */
declare const space: unique symbol;
export type In<Space extends string> = number & { readonly [space]: Space };

/** The number of a game: its index in the order of the packs. */
export type GameNumber = In<'number of a game'>;

/** The index of a game in title order over all platforms. */
export type Rank = In<'rank'>;

/** The number of a variant of a title, a list of words under which its game is found. */
export type VariantNumber = In<'number of a variant'>;

/** A column that leads from one space of numbers to another. At any other index, it has a plain number. */
export type Lookup<From extends number, To extends number> = Uint32Array & {
  readonly [N in From]: To;
};
