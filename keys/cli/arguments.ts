/**
 * Describes a verb of `cover-catalogue keys`, and turns the words after it into values. Wrong words are
 * reported before any database is opened.
 */
import type { parseArgs } from 'node:util';
import type { Database } from '../../database/database.ts';
import { LARGEST_LIMIT } from '../../format/keys-file.ts';
import { type Options, parseVerb } from '../../program/arguments.ts';
import { ConfigurationError } from '../../program/environment/environment.ts';
import type { MailSettings } from '../mail/mailer.ts';

/** What the environment says. */
export interface Settings {
  /** Requests a minute where no `--limit` is given. */
  readonly defaultLimit: number;
  /** Where the pages are reached, for links in mails. */
  readonly publicUrl: string;
  readonly mail: MailSettings;
}

/** What the environment says, and what the command line holds after the verb. */
export interface Arguments<O extends Options> extends Settings {
  readonly options: ReturnType<typeof parseArgs<{ options: O }>>['values'];
  readonly positionals: readonly string[];
}

export type Run = (database: Database) => Promise<Outcome>;

/** What a verb did. */
export interface Outcome {
  /** For stdout: what programs read. */
  readonly data?: string;
  /** For stderr: a sentence to the operator. */
  readonly message?: string;
}

interface VerbDefinition<O extends Options> {
  readonly usage: string;
  readonly help: string;
  readonly options: O;
  /** What each argument without a name is, in order; none may be left out. */
  readonly positionals: readonly string[];
  /**
   * Checks the arguments, before any database is opened.
   * @throws ConfigurationError when they are wrong
   */
  prepare(args: Arguments<O>): Run;
}

export interface Verb {
  readonly usage: string;
  readonly help: string;
  /**
   * @param words after the verb
   * @returns what prepares the verb; undefined for `--help`
   * @throws ConfigurationError when the words are wrong
   */
  read(words: readonly string[]): ((settings: Settings) => Run) | undefined;
}

export function makeVerb<const O extends Options>(definition: VerbDefinition<O>): Verb {
  const { usage, help, options, positionals: names, prepare } = definition;
  return {
    usage,
    help,
    read(words) {
      const line = `Usage: cover-catalogue keys ${usage}`;
      const { isHelp, values, positionals } = parseVerb(words, options, names, line);
      if (isHelp) return undefined;
      return (settings) => prepare({ ...settings, options: values, positionals });
    },
  };
}

/** Who acts at the command line, and when. */
export function operator({ publicUrl }: Settings) {
  return { by: null, at: new Date(), publicUrl };
}

/** The id of a key, which is the first argument. */
export function idOf([text = '']: readonly string[]): number {
  return parseId(text, 'The id of a key is a number, as "list" shows it');
}

/** The id of an account, from an argument or option. */
export function parseAccountId(text: string): number {
  return parseId(text, 'The id of an account is a number, as "accounts" shows it');
}

function parseId(text: string, rule: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new ConfigurationError(`${rule}, not ${JSON.stringify(text)}.`);
}

export function parseLimit(name: string, text: string): number {
  const limit = /^[1-9]\d{0,8}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= LARGEST_LIMIT) return limit;
  throw new ConfigurationError(
    `${name} must be a whole number from 1 to ${LARGEST_LIMIT}, not ${JSON.stringify(text)}.`,
  );
}

/** The text of an option that must be there. @param why it must, as the end of a sentence */
export function requireText(name: string, text: string | undefined, why: string): string {
  if (text !== undefined && text.trim() !== '') return text;
  throw new ConfigurationError(`${name} is missing: ${why}.`);
}
