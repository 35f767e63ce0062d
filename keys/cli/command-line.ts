/**
 * Turns the words after `cover-catalogue keys` into something to do with a database. Wrong words are
 * reported before any database is opened.
 */
import { refuseMore, versionText } from '../../program/arguments.ts';
import { ConfigurationError } from '../../program/environment/environment.ts';
import type { Run, Settings } from './arguments.ts';
import { VERBS } from './verbs.ts';

/** What the words ask for: a text to print, or a verb that is to be prepared and run. */
export type Command =
  | { readonly text: string }
  | { readonly text?: undefined; prepare(settings: Settings): Run };

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
  const prepare = verb.read(rest);
  if (prepare !== undefined) return { prepare };
  return { text: `cover-catalogue keys ${verb.usage}\n\n${verb.help}\n` };
}

function overview(): string {
  const verbs = Object.values(VERBS).map(({ usage, help }) => `  ${usage}\n      ${help}\n`);
  return `cover-catalogue keys VERB …: API keys in the database of DATABASE_URL.\n\n${verbs.join('')}`;
}
