/**
 * Reads the command line of a program: its options or, for a program with verbs such as
 * `cover-catalogue keys`, a verb with its options and arguments. `--help` and `--version` work
 * everywhere. Anything else is an error, before the program reads its environment or opens a file.
 */
import { readFileSync } from 'node:fs';
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { ConfigurationError } from './environment/environment.ts';

export interface VerbSyntax {
  /** The verb with its arguments and options, such as "approve ID [--limit N]". */
  readonly usage: string;
  /** What it does, in one line. */
  readonly help: string;
  readonly options: ParseArgsOptionsConfig;
  /** The names of the required arguments, as in `usage`. */
  readonly positionals: readonly string[];
  /** The names of the optional arguments, which follow the required ones. */
  readonly optional?: readonly string[];
}

export interface VerbArguments {
  readonly options: Readonly<Record<string, string | boolean | undefined>>;
  readonly positionals: readonly string[];
}

/** A text to print, or a verb to run. */
export type Command<V> =
  | { readonly text: string }
  | { readonly text?: undefined; readonly verb: V; readonly args: VerbArguments };

export interface VerbProgram<V extends VerbSyntax> {
  /** The words before the verb: "cover-catalogue keys". */
  readonly name: string;
  /** What the program does, in one line, for `--help`. */
  readonly summary: string;
  /** By verb: one word, or two of which the first is shared by a group, such as "account add". */
  readonly verbs: Readonly<Record<string, V>>;
}

/**
 * Reads the options of a program without verbs. For `--help` or `--version`, prints the text and ends
 * the process with exit code 0.
 * @param usage what `--help` prints
 * @throws ConfigurationError that names an unknown argument
 */
export function readArguments<const O extends ParseArgsOptionsConfig>(
  usage: string,
  options: O,
  words: readonly string[] = process.argv.slice(2),
) {
  const standard = { version: { type: 'boolean' } } as const;
  const { values } = parse({ ...standard, ...options }, words, `\n${usage}`, false);
  const { help, version } = values as { help?: boolean; version?: boolean };
  if (!help && !version) return values;
  process.stdout.write(help ? usage : versionText());
  process.exit(0);
}

/**
 * @param words the command line after the name of the program
 * @throws ConfigurationError that names the wrong word and shows the usage
 */
export function readVerb<V extends VerbSyntax>(
  program: VerbProgram<V>,
  [name, ...rest]: readonly string[],
): Command<V> {
  const overview = overviewOf(program);
  if (name === undefined) throw new ConfigurationError(overview);
  if (['--help', '-h', 'help', '--version'].includes(name)) {
    refuseMore(rest, overview);
    return { text: name === '--version' ? versionText() : overview };
  }
  const group = groupOf(program, name);
  if (group !== undefined) return readVerb(group, rest);
  const verb = Object.hasOwn(program.verbs, name) ? program.verbs[name] : undefined;
  if (verb === undefined) {
    throw new ConfigurationError(`There is no verb ${JSON.stringify(name)}.\n${overview}`);
  }
  const usage = `Usage: ${program.name} ${verb.usage}`;
  const { values, positionals } = parse(verb.options, rest, usage, true);
  const options = values as VerbArguments['options'];
  if (options.help) return { text: `${program.name} ${verb.usage}\n\n${verb.help}\n` };
  const { positionals: required, optional = [] } = verb;
  const missing = required[positionals.length];
  if (missing !== undefined) throw new ConfigurationError(`${missing} is missing.\n${usage}`);
  refuseMore(positionals.slice(required.length + optional.length), usage);
  return { verb, args: { options, positionals } };
}

/** The verbs of two words that begin with this one, as a program of their own. */
function groupOf<V extends VerbSyntax>(
  { name, summary, verbs }: VerbProgram<V>,
  word: string,
): VerbProgram<V> | undefined {
  const start = `${word} `;
  const group = Object.entries(verbs)
    .filter(([verb]) => verb.startsWith(start))
    .map(([verb, syntax]) => {
      const usage = syntax.usage.slice(start.length);
      return [verb.slice(start.length), { ...syntax, usage }] as const;
    });
  if (group.length === 0) return undefined;
  return { name: `${name} ${word}`, summary, verbs: Object.fromEntries(group) };
}

function parse<O extends ParseArgsOptionsConfig>(
  own: O,
  words: readonly string[],
  usage: string,
  allowPositionals: boolean,
) {
  try {
    const options = { help: { type: 'boolean', short: 'h' }, ...own } as const;
    return parseArgs({ options, args: [...words], allowPositionals });
  } catch (cause) {
    throw new ConfigurationError(`${(cause as Error).message}\n${usage}`, { cause });
  }
}

function refuseMore([extra]: readonly string[], usage: string): void {
  if (extra === undefined) return;
  throw new ConfigurationError(`Unexpected argument: ${JSON.stringify(extra)}.\n${usage}`);
}

function versionText(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return `cover-catalogue ${JSON.parse(text).version}\n`;
}

function overviewOf({ name, summary, verbs }: VerbProgram<VerbSyntax>): string {
  const lines = Object.values(verbs).map(({ usage, help }) => `  ${usage}\n      ${help}\n`);
  return `${name} VERB …: ${summary}\n\n${lines.join('')}`;
}
