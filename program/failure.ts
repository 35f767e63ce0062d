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

/** The text of an error. Some connection errors have a code instead of a message. */
export function messageOf(error: unknown): string {
  const { message, code } = error as { message?: string; code?: string };
  return message || code || String(error);
}
