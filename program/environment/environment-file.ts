/**
 * Reads `.env` in the working directory. Names there and in the environment that are nearly ours are
 * reported: otherwise the program would silently use the default of the variable that was meant.
 */
import { parseEnv } from 'node:util';
import { readBoundedFileSync, UnfitFileError } from '../files/bounded-file.ts';
import { checkNames } from './near-names.ts';

/** In bytes. */
const LARGEST_FILE = 1024 * 1024;

/**
 * Adds what `.env` sets and the environment does not, and writes warnings to stderr.
 * @param known the names of our variables
 * @param old their former names, which are reported elsewhere
 * @returns what is wrong with the file, in sentences
 */
export function applyEnvironmentFile(known: readonly string[], old: readonly string[]): string[] {
  let inFile: NodeJS.Dict<string> = {};
  const unreadable: string[] = [];
  try {
    inFile = parseEnv(readBoundedFileSync('.env', LARGEST_FILE).toString('utf8'));
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (cause instanceof UnfitFileError) unreadable.push(`${message} Correct or remove it.`);
    else if (code !== 'ENOENT') unreadable.push(`.env cannot be read: ${message}.`);
  }
  const names = Object.keys(inFile).filter((name) => !old.includes(name));
  const { faults, warnings } = checkNames(known, names, Object.keys(process.env));
  for (const warning of warnings) process.stderr.write(`Warning: ${warning}\n`);
  for (const [name, text] of Object.entries(inFile)) process.env[name] ??= text;
  return [...unreadable, ...faults];
}
