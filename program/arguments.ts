/**
 * Reads the command line of a program: its options or, for a program with verbs such as
 * `cover-catalogue keys`, a verb with its arguments and options. `--help` and `--version` work
 * everywhere. Anything else is an error, before the program reads its environment or opens a file.
 */
import { readFileSync } from 'node:fs';
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { ConfigurationError } from './environment/environment.ts';

export interface VerbSyntax {
  /**
   * The verb with its arguments and options, such as "approve ID [--limit N]". It is also the grammar: an
   * argument in brackets may be missing, and an option without a value is a switch.
   */
  readonly usage: string;
  /** What it does, in one line. */
  readonly help: string;
}

export interface VerbArguments {
  readonly positionals: readonly string[];
  /** The values of the options that have one, by name. */
  readonly texts: Readonly<Record<string, string | undefined>>;
  /** The switches that are on. */
  readonly switches: ReadonlySet<string>;
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
  readonly verbs: readonly V[];
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
  words: readonly string[],
): Command<V> {
  const isNamed = (each: V) => wordsOf(each).every((word, index) => word === words[index]);
  const verb = program.verbs.find(isNamed);
  if (verb === undefined) return { text: readOther(program, words) };
  const usage = `Usage: ${program.name} ${verb.usage}`;
  const { options, required, most } = grammarOf(verb);
  const { values, positionals } = parse(options, words.slice(wordsOf(verb).length), usage, true);
  if (values.help) return { text: `${program.name} ${verb.usage}\n\n${verb.help}\n` };
  const missing = required[positionals.length];
  if (missing !== undefined) throw new ConfigurationError(`${missing} is missing.\n${usage}`);
  refuseMore(positionals.slice(most), usage);
  const [texts, switches]: [Record<string, string>, Set<string>] = [{}, new Set()];
  for (const [option, value] of Object.entries(values)) {
    if (typeof value === 'string') texts[option] = value;
    else switches.add(option);
  }
  return { verb, args: { positionals, texts, switches } };
}

/**
 * Words that name no verb.
 * @returns an overview of all verbs or of a group such as "account", or the version
 * @throws ConfigurationError unless they ask for one of these
 */
function readOther(
  { name, summary, verbs }: VerbProgram<VerbSyntax>,
  words: readonly string[],
): string {
  const group = verbs.filter((each) => wordsOf(each)[0] === words[0]);
  const [listed, [word, ...rest]] = group.length > 0 ? [group, words.slice(1)] : [verbs, words];
  const lines = listed.map(({ usage, help }) => `  ${usage}\n      ${help}\n`);
  const overview = `${name} VERB …: ${summary}\n\n${lines.join('')}`;
  if (word === undefined) throw new ConfigurationError(overview);
  if (!['--help', '-h', 'help', '--version'].includes(word)) {
    throw new ConfigurationError(`There is no verb ${JSON.stringify(word)}.\n${overview}`);
  }
  refuseMore(rest, overview);
  return word === '--version' ? versionText() : overview;
}

/**
 * Reads the value of an argument or option.
 * @param parse as in the table of variables
 * @throws ConfigurationError that begins with the name
 */
export function readValue<T>(name: string, text: string, parse: (text: string) => T): T {
  try {
    return parse(text);
  } catch (cause) {
    throw new ConfigurationError(`${name} ${(cause as Error).message}`, { cause });
  }
}

/** One word, or two of which the first is shared by a group: "approve", "account add". */
function wordsOf({ usage }: VerbSyntax): readonly string[] {
  return (/^[a-z]+(?: [a-z]+)*/.exec(usage)?.[0] ?? '').split(' ');
}

/** What a usage allows: options, the names of required arguments, and how many arguments at most. */
function grammarOf({ usage }: VerbSyntax) {
  const options: ParseArgsOptionsConfig = {};
  const rest = usage.replaceAll(/--([a-z-]+)( [A-Z]+)?/g, (_, name, value) => {
    options[name] = { type: value === undefined ? 'boolean' : 'string' };
    return '';
  });
  const names = rest.match(/\[?\b[A-Z]+\b/g) ?? [];
  return { options, required: names.filter((name) => !name.startsWith('[')), most: names.length };
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
