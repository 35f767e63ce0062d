/**
 * How long the soak is (`npm run soak`, or with `--quick` a few minutes), and what it prints. ROUNDS multiplies
 * the rounds: `ROUNDS=5 npm run soak -- test/soak/fleet/replicas.test.ts`.
 */

/** Whether this is the full form. */
export const IS_FULL = process.env.SOAK === 'full';

/** The number of rounds in each form. */
export function rounds(quick: number, full: number): number {
  return Math.ceil((IS_FULL ? full : quick) * Number(process.env.ROUNDS ?? 1));
}

/** Prints a figure of the run, for `test/RELIABILITY.md`. */
export function printFigure(guarantee: string, figure: string): void {
  process.stdout.write(`${guarantee}: ${figure}\n`);
}
