/**
 * Reads the command line of a program: its options or, for a program with verbs such as
 * `cover-catalogue keys`, a verb with its arguments and options. The usage that people read is also the
 * grammar: an argument in brackets may be missing, an option without a value is a switch, and "…" says that
 * an option may be repeated. `--help` and `--version` work everywhere: they print a text and end the process
 * with exit code 0. Anything else is an error, before the program reads its environment or opens a file.
 */
import { readFileSync } from 'node:fs';
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { ConfigurationError } from './environment/environment.ts';

export interface Arguments {
  readonly positionals: readonly string[];
  /** The values of the options that have one, by name; those of a repeated option are joined by commas. */
  readonly texts: Readonly<Record<string, string | undefined>>;
  /** The switches that are on. */
  readonly switches: ReadonlySet<string>;
}

export interface VerbSyntax {
  /** The verb with its arguments and options, such as "approve ID [--limit N]". */
  readonly usage: string;
  /** What it does, in one line. */
  readonly help: string;
}

interface VerbProgram<V extends VerbSyntax> {
  /** The words before the verb: "cover-catalogue keys". */
  readonly name: string;
  /** What the program does, in one line, for `--help`. */
  readonly summary: string;
  readonly verbs: readonly V[];
}

/**
 * @param usage what `--help` prints; its first paragraph is the grammar
 * @throws ConfigurationError that names the wrong word and shows the usage
 */
export function readArguments(usage: string, words: readonly string[]): Arguments {
  try {
    return parse(usage, words);
  } catch (cause) {
    throw new ConfigurationError(`${(cause as Error).message}\n\n${usage}`, { cause });
  }
}

/**
 * @param words the command line after the name of the program
 * @throws ConfigurationError that names the wrong word and shows the usage
 */
export function readVerb<V extends VerbSyntax>(
  { name, summary, verbs }: VerbProgram<V>,
  words: readonly string[],
): { readonly verb: V; readonly args: Arguments } {
  const isNamed = (each: V) => wordsOf(each).every((word, index) => word === words[index]);
  const verb = verbs.find(isNamed);
  if (verb !== undefined) {
    const usage = `Usage: ${name} ${verb.usage}\n\n${verb.help}\n`;
    return { verb, args: readArguments(usage, words.slice(wordsOf(verb).length)) };
  }
  const group = verbs.filter((each) => wordsOf(each)[0] === words[0]);
  const [listed, rest] = group.length > 0 ? [group, words.slice(1)] : [verbs, words];
  const lines = listed.map(({ usage, help }) => `  ${usage}\n      ${help}\n`);
  const overview = `${name} VERB …\n\n${summary}\n\n${lines.join('')}`;
  const [word] = rest;
  if (word === 'help') readArguments(overview, ['--help']);
  // Without any word, it says that VERB is missing.
  if (word === undefined || word.startsWith('-')) readArguments(overview, rest);
  throw new ConfigurationError(`There is no verb ${JSON.stringify(word)}.\n\n${overview}`);
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
  return (/^[a-z-]+(?: [a-z-]+)*/.exec(usage)?.[0] ?? '').split(' ');
}

function parse(usage: string, words: readonly string[]): Arguments {
  const options: ParseArgsOptionsConfig = {
    help: { type: 'boolean', short: 'h' },
    version: { type: 'boolean' },
  };
  const repeatable = new Set<string>();
  const [grammar] = usage.split('\n\n', 1);
  const withoutOptions = grammar.replaceAll(
    /--([a-z-]+)( [A-Z]+)?(\]…)?/g,
    (_, name, value, more) => {
      options[name] = { type: value === undefined ? 'boolean' : 'string', multiple: true };
      if (more !== undefined) repeatable.add(name);
      return '';
    },
  );
  const names = withoutOptions.match(/\[?\b[A-Z]+\b/g) ?? [];
  const { values, positionals } = parseArgs({ options, args: [...words], allowPositionals: true });
  const [extra] = positionals.slice(names.length);
  if (extra !== undefined) throw new Error(`Unexpected argument: ${JSON.stringify(extra)}.`);
  if (values.help || values.version) {
    process.stdout.write(values.help ? usage : versionText());
    process.exit(0);
  }
  const missing = names[positionals.length];
  if (missing?.startsWith('[') === false) throw new Error(`${missing} is missing.`);
  const [texts, switches]: [Record<string, string>, Set<string>] = [{}, new Set()];
  for (const [option, value] of Object.entries(values)) {
    const given = [value].flat();
    if (given.length > 1 && !repeatable.has(option))
      throw new Error(`--${option} is repeated: give it once.`);
    if (given[0] === true) switches.add(option);
    else texts[option] = given.join(',');
  }
  return { positionals, texts, switches };
}

function versionText(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return `cover-catalogue ${JSON.parse(text).version}\n`;
}
