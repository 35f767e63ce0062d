/**
 * Reads the arguments of a program: its own options, `--help` and `--version`. Any other argument is
 * an error. A program calls this before it reads its environment or opens a file.
 */
import { readFileSync } from 'node:fs';
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { ConfigurationError } from './environment/environment.ts';

type Options = NonNullable<ParseArgsConfig['options']>;

const STANDARD = {
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
} as const;

/**
 * Reads the options from the arguments of this process. For `--help` or `--version`, prints the text
 * and ends the process with exit code 0.
 * @param usage what `--help` prints
 * @throws ConfigurationError that names an unknown argument
 */
export function readArguments<const O extends Options>(
  usage: string,
  options: O,
  words: readonly string[] = process.argv.slice(2),
) {
  const values = parse(usage, { ...STANDARD, ...options }, words);
  const { help, version } = values as { help?: boolean; version?: boolean };
  if (!help && !version) return values;
  process.stdout.write(help ? usage : versionText());
  process.exit(0);
}

function parse<O extends Options>(usage: string, options: O, words: readonly string[]) {
  try {
    return parseArgs({ options, args: [...words] }).values;
  } catch (cause) {
    throw new ConfigurationError(`${(cause as Error).message}\n\n${usage}`, { cause });
  }
}

/**
 * Refuses further arguments.
 * @throws ConfigurationError that names the first of them
 */
export function refuseMore([extra]: readonly string[], usage: string): void {
  if (extra === undefined) return;
  throw new ConfigurationError(`Unexpected argument: ${JSON.stringify(extra)}.\n${usage}`);
}

/** What `--version` prints. */
export function versionText(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return `cover-catalogue ${JSON.parse(text).version}\n`;
}
