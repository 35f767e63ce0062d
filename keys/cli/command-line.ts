/**
 * Turns the words after `cover-catalogue keys` into something to do with a database. Wrong words are
 * reported before any database is opened.
 */
import { parseArgs } from 'node:util';
import { refuseMore, versionText } from '../../program/arguments.ts';
import { ConfigurationError } from '../../program/environment/environment.ts';
import type { Verb } from './arguments.ts';
import { VERBS } from './verbs.ts';

/** What the words ask for: a text to print, or a verb that is to be prepared and run. */
export type Command =
  | { readonly text: string }
  | { readonly text?: undefined; readonly prepare: Prepare };

type Given = Parameters<Verb['prepare']>[0];
/** @throws ConfigurationError when the arguments are wrong */
type Prepare = (environment: Omit<Given, 'options' | 'positionals'>) => ReturnType<Verb['prepare']>;

/** @throws ConfigurationError naming the word that is wrong and how the verb is used */
export function readCommand([name, ...rest]: readonly string[]): Command {
  if (name === undefined) throw new ConfigurationError(overview());
  if (name === '--help' || name === '-h' || name === 'help') {
    refuseMore(rest, overview());
    return { text: overview() };
  }
  if (name === '--version') {
    refuseMore(rest, overview());
    return { text: versionText() };
  }
  const verb = Object.hasOwn(VERBS, name) ? VERBS[name] : undefined;
  if (verb === undefined) {
    throw new ConfigurationError(`There is no verb ${JSON.stringify(name)}.\n${overview()}`);
  }
  const { values: options, positionals } = parse(verb, rest);
  if (options.help) return { text: `cover-catalogue keys ${verb.usage}\n\n${verb.help}\n` };
  checkPositionals(verb, positionals);
  return { prepare: (environment) => verb.prepare({ ...environment, options, positionals }) };
}

function parse(verb: Verb, args: string[]) {
  try {
    return parseArgs({
      args,
      options: { ...verb.options, help: { type: 'boolean', short: 'h' } },
      allowPositionals: true,
    }) as { values: Record<string, string | boolean | undefined>; positionals: string[] };
  } catch (cause) {
    throw new ConfigurationError(`${(cause as Error).message}\n${usageOf(verb)}`, { cause });
  }
}

function checkPositionals(verb: Verb, positionals: readonly string[]): void {
  const missing = verb.positionals[positionals.length];
  const extra = positionals[verb.positionals.length];
  if (missing !== undefined) {
    throw new ConfigurationError(`${missing} is missing.\n${usageOf(verb)}`);
  }
  if (extra !== undefined) {
    throw new ConfigurationError(
      `There is an argument too many: ${JSON.stringify(extra)}.\n${usageOf(verb)}`,
    );
  }
}

function usageOf({ usage }: Verb): string {
  return `Usage: cover-catalogue keys ${usage}`;
}

function overview(): string {
  const verbs = Object.values(VERBS).map(({ usage, help }) => `  ${usage}\n      ${help}\n`);
  return `cover-catalogue keys VERB …: API keys in the database of DATABASE_URL.\n\n${verbs.join('')}`;
}
