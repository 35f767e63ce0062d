/**
 * Parses the command line after `cover-catalogue keys`: finds the verb, and prepares it to run. Wrong
 * arguments are reported before the database is opened.
 */
import { readVerb } from '../../program/arguments.ts';
import type { Run, Settings } from './arguments.ts';
import { VERBS } from './verbs.ts';

/** A text to print, or a verb to prepare and run. */
export type Command =
  | { readonly text: string }
  | {
      readonly text?: undefined;
      /** @throws ConfigurationError if the arguments are wrong */
      prepare(settings: Settings): Run;
    };

/** @throws ConfigurationError that names the wrong word and shows the usage of the verb */
export function readCommand(words: readonly string[]): Command {
  const command = readVerb(
    {
      name: 'cover-catalogue keys',
      summary: 'API keys and accounts in the database of DATABASE_URL.',
      verbs: VERBS,
    },
    words,
  );
  if (command.text !== undefined) return command;
  const { verb, args } = command;
  return { prepare: (settings) => verb.prepare({ ...settings, ...args }) };
}
