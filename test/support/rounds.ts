/**
 * How long tests run that prove a guarantee (test/RELIABILITY.md): in `npm test` the short form, in
 * `npm run soak` the full one, with the same code. The soak runs just the files that import this.
 */

/** Whether this is the full form. */
export const IS_SOAK = process.env.SOAK === '1';

/** The number of rounds, or whatever else differs between the two forms. */
export function rounds(short: number, full: number): number {
  return IS_SOAK ? full : short;
}

/** Prints a figure of the run, for `test/RELIABILITY.md`. */
export function sayFigure(promise: string, figure: string): void {
  process.stdout.write(`${promise}: ${figure}\n`);
}
