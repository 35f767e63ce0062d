/** Prints on stderr why a program failed, and chooses its exit code. */
import path from 'node:path';
import { ConfigurationError } from './environment/environment.ts';
import type { Invocation } from './invocation.ts';

/** An error with its own exit code: 3 for refused or held, 4 for locked. */
export interface ErrorWithExitCode extends Error {
  readonly exitCode: 3 | 4;
}

/** 1 failed, 2 wrong usage or configuration, 3 refused or held, 4 locked. */
type FailureCode = 1 | 2 | 3 | 4;

/**
 * Makes a command, which prints its error.
 * @param work returns the exit code, or undefined if it runs until a signal
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
      invocation.stderr.write(`${isConfiguration ? '' : what}${messageOf(error).trimEnd()}\n`);
      if (isConfiguration) return 2;
      return 'exitCode' in error ? error.exitCode : 1;
    });
}

/** A disk has no space. The message names a folder on it. */
export class FullDiskError extends Error {
  override readonly name = 'FullDiskError';
}

/** @returns a {@link FullDiskError} if the disk of the folder was full, otherwise the error itself */
export function explainFullDisk(error: unknown, folder: string): unknown {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (cause instanceof FullDiskError) return error;
    if (code !== 'ENOSPC' && code !== 'EDQUOT') continue;
    const text = `The disk of ${path.resolve(folder)} is full: ${messageOf(error).replace(/\.$/, '')}.`;
    return new FullDiskError(text, { cause: error });
  }
  return error;
}

const REPORT_IT = 'this is a fault of cover-catalogue, please report it';

/**
 * The text of an error. Some connection errors have a code instead of a message. An operator can only report that
 * "undefined" has no such property, so the text says this, and where it happened.
 */
export function messageOf(error: unknown): string {
  const { message, code } = (error ?? {}) as { message?: string; code?: string };
  const text = message || code || String(error);
  const fault = findOwnFault(error);
  if (fault === undefined || text.includes(REPORT_IT)) return text;
  const [, where = 'without a stack'] = /\n\s+(at .+)/.exec(fault.stack ?? '') ?? [];
  return `${text} (${fault.name} ${where}; ${REPORT_IT})`;
}

/** The error of the language, among an error and its causes, that only a mistake of ours can throw. */
function findOwnFault(error: unknown): Error | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const isOfLanguage = [TypeError, RangeError, ReferenceError].some(
      (type) => cause instanceof type,
    );
    // Those of Node have a code, as for a wrong URL, and those of fetch a cause.
    if (isOfLanguage && !('code' in cause) && cause.cause === undefined) return cause;
  }
  return undefined;
}
