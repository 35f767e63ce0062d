/**
 * Reads environment variables, and `.env` in the working directory. A program names the variables
 * that it needs, and gets either all their values or one error that lists every fault. Invariant: a `.env` that
 * another user can write is not read.
 */
import { fstatSync, lstatSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseEnv } from 'node:util';
import { openRegularFile, withFile } from '../files/bounded-file.ts';
import { VARIABLES, type Variable, type VariableName } from './variables.ts';

export type Environment<Name extends VariableName> = {
  readonly [N in Name]: ReturnType<(typeof VARIABLES)[N][1]>;
};

/** The environment or the arguments are wrong. The program prints the message and exits with 2. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
}

const LARGEST_FILE_BYTES = 1024 * 1024;
/** Variables of earlier versions that do nothing any more, and why. */
const REMOVED: Readonly<Record<string, string>> = {
  ACCESS_LOG: 'nginx logs the requests ("nginx" in operations/install.md)',
};

/**
 * Adds the variables of `.env` in the working directory that the environment does not set. Warns on stderr of
 * each line of the file that has no effect, and of each name that is not a variable: it may be misspelled. Warns also
 * of variables of earlier versions, wherever they are set.
 * @throws ConfigurationError if the file is there and cannot be read
 */
export function loadEnvironmentFile(): void {
  addEnvironmentFile();
  for (const [name, reason] of Object.entries(REMOVED)) {
    if ((process.env[name] ?? 'off') === 'off') continue;
    process.stderr.write(`Warning: ${name} has no effect any more: ${reason}. Remove it.\n`);
  }
}

function addEnvironmentFile(): void {
  let content: string;
  try {
    content = readOwnFile('.env').replace(/^\uFEFF/, '');
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT') return;
    throw new ConfigurationError(`${path.resolve('.env')} is not read: ${message}`, { cause });
  }
  for (const line of strayLines(content)) {
    process.stderr.write(`Warning: ${line} has no effect: write NAME=value.\n`);
  }
  for (const [name, text] of Object.entries(parseEnv(content))) {
    // Anything else is a part of a stray line, and may contain a password.
    if (!/^\w+$/.test(name)) continue;
    if (!Object.hasOwn(VARIABLES, name) && !Object.hasOwn(REMOVED, name)) {
      process.stderr.write(`Warning: ${name} in .env is not a variable of this program.\n`);
    }
    process.env[name] ??= text;
  }
}

/**
 * Finds the lines that are neither NAME=value nor a comment. Of their text, which may be a secret, only the name of a
 * variable is shown.
 * @returns texts such as "line 3 of .env (PORT)"
 */
function strayLines(content: string): string[] {
  // In quotes, a value may have several lines.
  const withoutQuoted = content.replaceAll(
    /^(\s*(?:export\s+)?\w+[ \t]*=[ \t]*)(["'`]).*?\2/gms,
    (all, start: string) => start + all.slice(start.length).replaceAll(/./g, ''),
  );
  return withoutQuoted.split('\n').flatMap((line, index) => {
    if (/^\s*(?:$|#|(?:export\s+)?\w+\s*=)/.test(line)) return [];
    const [, name = ''] = /^\s*(?:export\s+)?(\w+)/.exec(line) ?? [];
    const shown = Object.hasOwn(VARIABLES, name) ? ` (${name})` : '';
    return [`line ${index + 1} of .env${shown}`];
  });
}

/** @throws Error that names the fix if another user than this one or root can write the file */
function readOwnFile(file: string): string {
  return withFile(openRegularFile(file, 0, LARGEST_FILE_BYTES), (descriptor) => {
    const stats = fstatSync(descriptor);
    // Another user's link could lead to a file of this one.
    for (const { uid } of [lstatSync(file), stats]) checkOwner(file, uid);
    if ((stats.mode & 0o022) !== 0) {
      throw new Error(`other users can write to it. Run: chmod go-w ${path.resolve(file)}`);
    }
    return readFileSync(descriptor, 'utf8');
  });
}

function checkOwner(file: string, owner: number): void {
  const user = process.geteuid?.() ?? owner;
  if (owner === user || owner === 0) return;
  const whole = path.resolve(file);
  throw new Error(
    `it belongs to the user with id ${owner}, and this program runs as ${user}. Change to the folder of your own .env, or, if you trust its content, run: chown ${user} ${whole}`,
  );
}

/**
 * Further checks of values. Each check also gets the values that were read before. The message of its
 * error continues a sentence that begins with the name of the variable.
 */
export type ValueChecks<Name extends VariableName> = {
  readonly [N in Name]?: (value: Environment<N>[N], before: Partial<Environment<Name>>) => void;
};

/**
 * Reads the values of the named variables.
 * @throws ConfigurationError listing every fault
 */
export function readEnvironment<Name extends VariableName>(
  names: readonly Name[],
  environment: Readonly<Record<string, string | undefined>> = process.env,
  checks: ValueChecks<Name> = {},
): Environment<Name> {
  const { values, faults } = inspectEnvironment(names, environment, checks);
  if (faults.length > 0) throw new ConfigurationError(faults.join('\n'));
  return values as Environment<Name>;
}

function portOf({ PORT }: Readonly<Record<string, string | undefined>>): string {
  return /^\s*(\d+)\s*$/.exec(PORT ?? '')?.[1] ?? VARIABLES.PORT[0];
}

/**
 * Reads the values of the named variables as far as they are valid.
 * @returns the values without faults, and all faults, one sentence for each
 */
export function inspectEnvironment<Name extends VariableName>(
  names: readonly Name[],
  environment: Readonly<Record<string, string | undefined>> = process.env,
  checks: ValueChecks<Name> = {},
): { readonly values: Partial<Environment<Name>>; readonly faults: readonly string[] } {
  const values: Record<string, unknown> = {};
  const faults: string[] = [];
  for (const name of new Set(names)) {
    const [fallback, parse]: Variable<unknown> = VARIABLES[name];
    const text = environment[name]?.trim() || fallback?.replace('$PORT', () => portOf(environment));
    try {
      if (text === undefined) {
        const file = path.resolve('.env');
        throw new Error(`is not set, neither in the environment nor in ${file}. See .env.example.`);
      }
      const value = parse(text);
      const check = checks[name] as ((value: unknown, before: object) => void) | undefined;
      check?.(value, values);
      values[name] = value;
    } catch (error) {
      faults.push(`${name} ${(error as Error).message}`);
    }
  }
  return { values: values as Partial<Environment<Name>>, faults };
}
