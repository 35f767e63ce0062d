/** Tells the user on stderr why a program failed, and with which code it ends. */
import { ConfigurationError } from './environment/environment.ts';

/**
 * Prints the error.
 * @param what stands before the message, unless the configuration is at fault
 * @returns the exit code: 2 for wrong usage or configuration, 1 for anything else
 */
export function reportFailure(error: Error, what = ''): 1 | 2 {
  const isConfiguration = error instanceof ConfigurationError;
  process.stderr.write(`${isConfiguration ? '' : what}${error.message.trimEnd()}\n`);
  return isConfiguration ? 2 : 1;
}
