/** Prints on stderr why a program failed, and chooses its exit code. */
import { ConfigurationError } from './environment/environment.ts';

/**
 * Prints the message of an error.
 * @param what a prefix for the message, which errors of configuration do not get
 * @returns the exit code: 2 for wrong usage or configuration, 1 for anything else
 */
export function reportFailure(error: Error, what = ''): 1 | 2 {
  const isConfiguration = error instanceof ConfigurationError;
  process.stderr.write(`${isConfiguration ? '' : what}${error.message.trimEnd()}\n`);
  return isConfiguration ? 2 : 1;
}
