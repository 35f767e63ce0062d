/**
 * Ends a program that serves on SIGTERM or SIGINT, with 0. Imported first, for its effect: a signal
 * that comes while the program is still starting is an orderly end, too.
 */

/** Ends what is under way. @param signal its name */
export type Stop = (signal: NodeJS.Signals) => Promise<void>;

/** Undefined while there is nothing to end yet. */
let stop: Stop | undefined;
let isStopping = false;

for (const name of ['SIGTERM', 'SIGINT'] as const) {
  process.on(name, async (signal) => {
    if (isStopping) return;
    isStopping = true;
    await stop?.(signal);
    process.exit(0);
  });
}

/** Sets what the program does before it ends. A second signal changes nothing. */
export function stopWith(next: Stop): void {
  stop = next;
}
