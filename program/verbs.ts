/**
 * Reads the command line of a program with verbs, such as `cover-catalogue keys`: the verb, its
 * options and its arguments. Wrong arguments are reported before the program opens anything.
 */
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { refuseMore, versionText } from './arguments.ts';
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
 * @param words the command line after the name of the program
 * @throws ConfigurationError that names the wrong word and shows the usage
 */
export function readVerb<V extends VerbSyntax>(
  program: VerbProgram<V>,
  [name, ...rest]: readonly string[],
): Command<V> {
  const overview = overviewOf(program);
  if (name === undefined) throw new ConfigurationError(overview);
  if (name === '--help' || name === '-h' || name === 'help') {
    refuseMore(rest, overview);
    return { text: overview };
  }
  if (name === '--version') {
    refuseMore(rest, overview);
    return { text: versionText() };
  }
  const group = groupOf(program, name);
  if (group !== undefined) return readVerb(group, rest);
  const verb = Object.hasOwn(program.verbs, name) ? program.verbs[name] : undefined;
  if (verb === undefined) {
    throw new ConfigurationError(`There is no verb ${JSON.stringify(name)}.\n${overview}`);
  }
  const usage = `Usage: ${program.name} ${verb.usage}`;
  const args = parse(verb, rest, usage);
  if (args.options.help) return { text: `${program.name} ${verb.usage}\n\n${verb.help}\n` };
  checkPositionals(verb, args.positionals, usage);
  return { verb, args };
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

function parse(verb: VerbSyntax, args: string[], usage: string): VerbArguments {
  try {
    const { values, positionals } = parseArgs({
      args,
      options: { ...verb.options, help: { type: 'boolean', short: 'h' } },
      allowPositionals: true,
    });
    return { options: values as VerbArguments['options'], positionals };
  } catch (cause) {
    throw new ConfigurationError(`${(cause as Error).message}\n${usage}`, { cause });
  }
}

function checkPositionals(
  { positionals: required, optional = [] }: VerbSyntax,
  given: readonly string[],
  usage: string,
): void {
  const missing = required[given.length];
  if (missing !== undefined) throw new ConfigurationError(`${missing} is missing.\n${usage}`);
  refuseMore(given.slice(required.length + optional.length), usage);
}

function overviewOf({ name, summary, verbs }: VerbProgram<VerbSyntax>): string {
  const lines = Object.values(verbs).map(({ usage, help }) => `  ${usage}\n      ${help}\n`);
  return `${name} VERB …: ${summary}\n\n${lines.join('')}`;
}
