/** Prints on stderr why a program failed, and chooses its exit code. */
import { ConfigurationError } from './environment/environment.ts';
import type { Invocation } from './invocation.ts';

/** An error with its own exit code: 3 for refused or held, 4 for locked. */
export interface ErrorWithExitCode extends Error {
  readonly exitCode: 3 | 4;
}

/** 1 failed, 2 wrong usage or configuration, 3 refused or held, 4 locked. */
type FailureCode = 1 | ErrorWithExitCode['exitCode'] | 2;

/**
 * Makes a command, which prints its error.
 * @param work returns the exit code, or undefined if it goes on until a signal
 * @param what a prefix for the message of an error, which errors of configuration do not get
 * @returns a function that returns the same, or the exit code for the error
 */
export function makeCommand<Code extends number | undefined>(
  work: (invocation: Invocation) => Promise<Code>,
  what = '',
): (invocation: Invocation) => Promise<Code | FailureCode> {
  return (invocation) =>
    work(invocation).catch((error: Error | ErrorWithExitCode) => {
      const isConfiguration = error instanceof ConfigurationError;
      invocation.stderr.write(`${isConfiguration ? '' : what}${error.message.trimEnd()}\n`);
      if (isConfiguration) return 2;
      return 'exitCode' in error ? error.exitCode : 1;
    });
}

/** The text of an error. Some connection errors have a code instead of a message. */
export function messageOf(error: unknown): string {
  const { message, code } = error as { message?: string; code?: string };
  return message || code || String(error);
}
