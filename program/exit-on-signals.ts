/**
 * Ends a command that runs once as soon as SIGINT or SIGTERM arrives, with the exit code that a shell
 * expects. Listeners of the event "exit" still run, and remove what is unfinished.
 */
export function exitOnSignals(): void {
  process.on('SIGINT', () => process.exit(130));
  process.on('SIGTERM', () => process.exit(143));
}
