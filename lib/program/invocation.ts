/**
 * What a command is called with and where it prints: the arguments, variables and streams of its process,
 * or those that a caller in the same process gives it.
 */
import { loadEnvironmentFile } from './environment/environment.ts';
import type { Printable } from './progress.ts';

export interface Invocation {
  /** The arguments after the name of the command. */
  readonly words: readonly string[];
  /** The environment. It is read after the arguments: `--help` needs none. */
  variables(): Readonly<Record<string, string | undefined>>;
  readonly stdout: Printable;
  readonly stderr: Printable;
}

/**
 * The invocation of this process with these arguments. Its variables include those of the .env file. If its
 * output cannot be written, the process ends: without a message if the reader is gone, as after `| head`.
 */
export function processInvocation(words: readonly string[]): Invocation {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // Node ignores SIGPIPE, and other tools end with the exit code of this signal.
    if (error.code === 'EPIPE') process.exit(128 + 13);
    process.stderr.write(`The output could not be written: ${error.message}.\n`);
    process.exit(1);
  });
  return {
    words,
    variables() {
      loadEnvironmentFile();
      return process.env;
    },
    stdout: process.stdout,
    stderr: process.stderr,
  };
}

/**
 * Ends a command that runs once as soon as SIGINT or SIGTERM arrives, with the exit code that a shell
 * expects. Listeners of the event "exit" still run, and remove what is unfinished.
 */
export function exitOnSignals(): void {
  process.on('SIGINT', () => process.exit(130));
  process.on('SIGTERM', () => process.exit(143));
}
