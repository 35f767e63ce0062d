/**
 * Turns the words after `cover-catalogue keys` into something to do with a database. Wrong words are
 * reported before any database is opened.
 */
import { readVerb } from '../../program/verbs.ts';
import type { Run, Settings } from './arguments.ts';
import { VERBS } from './verbs.ts';

/** A text to print, or a verb that is to be prepared and run. */
export type Command =
  | { readonly text: string }
  | {
      readonly text?: undefined;
      /** @throws ConfigurationError when the arguments are wrong */
      prepare(settings: Settings): Run;
    };

/** @throws ConfigurationError naming the word that is wrong and how the verb is used */
export function readCommand(words: readonly string[]): Command {
  const command = readVerb(
    {
      name: 'cover-catalogue keys',
      summary: 'API keys in the database of DATABASE_URL.',
      verbs: VERBS,
    },
    words,
  );
  if (command.text !== undefined) return command;
  const { verb, args } = command;
  return { prepare: (settings) => verb.prepare({ ...settings, ...args }) };
}
