/**
 * Reads `.env` in the working directory. Reports misspelled names of our variables, in the file and
 * in the environment: otherwise the program would silently use a default.
 */
import { parseEnv } from 'node:util';
import { readBoundedFileSync, UnfitFileError } from '../files/bounded-file.ts';
import { checkNames } from './near-names.ts';

/** In bytes. */
const LARGEST_FILE = 1024 * 1024;

/**
 * Adds the variables of `.env` that the environment does not set.
 * @param known the names of our variables
 * @param warn called for each name that is probably misspelled
 * @returns the faults of the file, one sentence for each
 */
export function applyEnvironmentFile(
  known: readonly string[],
  warn: (text: string) => void,
): string[] {
  let inFile: NodeJS.Dict<string> = {};
  const unreadable: string[] = [];
  try {
    inFile = parseEnv(readBoundedFileSync('.env', LARGEST_FILE).toString('utf8'));
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (cause instanceof UnfitFileError) unreadable.push(`${message} Correct or remove it.`);
    else if (code !== 'ENOENT') unreadable.push(`.env cannot be read: ${message}.`);
  }
  const { faults, warnings } = checkNames(known, Object.keys(inFile), Object.keys(process.env));
  for (const warning of warnings) warn(warning);
  for (const [name, text] of Object.entries(inFile)) process.env[name] ??= text;
  return [...unreadable, ...faults];
}
