/** Prints on stderr why a program failed, and chooses its exit code. */
import { ConfigurationError } from './environment/environment.ts';
import type { Printable } from './progress.ts';

/** An error with its own exit code: 3 for refused or held, 4 for locked. */
export interface ErrorWithExitCode extends Error {
  readonly exitCode: 3 | 4;
}

/**
 * Prints the message of an error.
 * @param what a prefix for the message, which errors of configuration do not get
 * @returns the exit code: 2 for wrong usage or configuration, that of the error if it has one, otherwise 1
 */
export function reportFailure(
  error: Error | ErrorWithExitCode,
  what = '',
  stderr: Printable = process.stderr,
): 1 | 2 | 3 | 4 {
  const isConfiguration = error instanceof ConfigurationError;
  stderr.write(`${isConfiguration ? '' : what}${error.message.trimEnd()}\n`);
  if (isConfiguration) return 2;
  return 'exitCode' in error ? error.exitCode : 1;
}

/** The text of an error. Some connection errors have a code instead of a message. */
export function messageOf(error: unknown): string {
  const { message, code } = error as { message?: string; code?: string };
  return message || code || String(error);
}
