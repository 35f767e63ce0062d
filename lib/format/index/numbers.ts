/**
 * The kinds of numbers by which games are known, so that the compiler tells them apart. They cost nothing at
 * run time. Only what opens a column or finds games says of which kind a number is.
 */
declare const kind: unique symbol;

/** The number of a game: its index in the order of the packs. */
export type GameNumber = number & { readonly [kind]: 'game' };

/** The index of a game in title order over all platforms. */
export type Rank = number & { readonly [kind]: 'rank' };

/** The number of a variant of a title, a list of words under which its game is found. */
export type VariantNumber = number & { readonly [kind]: 'variant' };

/** A column that leads from one kind of number to another. At any other index, it has a plain number. */
export type Lookup<From extends number, To extends number> = Uint32Array & {
  readonly [N in From]: To;
};
