/** Reports on stderr why a program failed, and chooses its exit code. */
import { ConfigurationError } from './environment/environment.ts';

/**
 * Prints the error.
 * @param what a prefix of the message, left out for errors of configuration
 * @returns the exit code: 2 for wrong usage or configuration, 1 for anything else
 */
export function reportFailure(error: Error, what = ''): 1 | 2 {
  const isConfiguration = error instanceof ConfigurationError;
  process.stderr.write(`${isConfiguration ? '' : what}${error.message.trimEnd()}\n`);
  return isConfiguration ? 2 : 1;
}
