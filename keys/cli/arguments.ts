/**
 * Describes a verb of `cover-catalogue keys`, and turns the words after it into values. Wrong words are
 * reported before any database is opened.
 */
import type { Database } from '../../database/database.ts';
import { LARGEST_LIMIT } from '../../format/keys-file.ts';
import { ConfigurationError } from '../../program/environment/environment.ts';
import type { VerbArguments, VerbSyntax } from '../../program/verbs.ts';
import type { MailSettings } from '../mail/mailer.ts';

/** What the command line held after the verb, and what the environment says. */
export interface Arguments extends VerbArguments {
  /** Requests a minute where no `--limit` is given. */
  readonly defaultLimit: number;
  /** Where the pages are reached, for links in mails. */
  readonly publicUrl: string;
  readonly mail: MailSettings;
}

export interface Verb extends VerbSyntax {
  /**
   * Reads the arguments, before any database is opened.
   * @throws ConfigurationError when they are wrong
   */
  prepare(args: Arguments): (database: Database) => Promise<Outcome>;
}

/** What a verb did. */
export interface Outcome {
  /** For stdout: what programs read. */
  readonly data?: string;
  /** For stderr: a sentence to the operator. */
  readonly said?: string;
}

/** Who acts at the command line, and when. */
export function operator({ publicUrl }: Arguments) {
  return { by: null, at: new Date(), publicUrl };
}

/** The id of a key, which is the first argument. */
export function idOf({ positionals: [text = ''] }: Arguments): number {
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

/** What `--limit` says; undefined when it is not there. */
export function limitOf({ options: { limit } }: Arguments): number | undefined {
  return limit === undefined ? undefined : parseLimit('--limit', String(limit));
}

export function parseLimit(name: string, text: string): number {
  const limit = /^[1-9]\d{0,8}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= LARGEST_LIMIT) return limit;
  throw new ConfigurationError(
    `${name} must be a whole number from 1 to ${LARGEST_LIMIT}, not ${JSON.stringify(text)}.`,
  );
}

/** What an option says that must be there. @param why it must, as the end of a sentence */
export function textOf({ options }: Arguments, name: string, why: string): string {
  const text = options[name];
  if (typeof text === 'string' && text.trim() !== '') return text;
  throw new ConfigurationError(`--${name} is missing: ${why}.`);
}
