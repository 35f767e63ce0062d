/**
 * Ends a server with exit code 0 on SIGTERM or SIGINT. Programs import this module early, for its effect,
 * so that a signal during startup also ends them with 0.
 */

/** Ends the work of a program. */
export type Stop = (signal: NodeJS.Signals) => Promise<void>;

/** Undefined while the program has no work to end. */
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

/** Sets what the program does on the first signal, before it ends. Further signals have no effect. */
export function stopWith(next: Stop): void {
  stop = next;
}
