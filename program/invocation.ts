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

/** The invocation of this process. Its variables include those of the .env file. */
export function processInvocation(): Invocation {
  return {
    words: process.argv.slice(2),
    variables() {
      loadEnvironmentFile();
      return process.env;
    },
    stdout: process.stdout,
    stderr: process.stderr,
  };
}
