/**
 * Selects the form of the tests that prove a guarantee (test/RELIABILITY.md): `npm test` runs the
 * short form, `npm run soak` the full form. The soak runs only the files that import this one.
 */

/** Whether this is the full form. */
export const IS_SOAK = process.env.SOAK === '1';

/** Chooses between the two forms, for example between numbers of rounds. */
export function rounds(short: number, full: number): number {
  return IS_SOAK ? full : short;
}

/** Prints a figure of the run, for `test/RELIABILITY.md`. */
export function printFigure(guarantee: string, figure: string): void {
  process.stdout.write(`${guarantee}: ${figure}\n`);
}
