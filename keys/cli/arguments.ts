/**
 * Describes a verb of `cover-catalogue keys`, and parses its arguments. Wrong arguments are reported
 * before the database is opened.
 */
import type { ParseArgsOptionsConfig, parseArgs } from 'node:util';
import type { Database } from '../../database/database.ts';
import { LARGEST_LIMIT } from '../../format/keys-file.ts';
import type { VerbArguments, VerbSyntax } from '../../program/arguments.ts';
import { ConfigurationError } from '../../program/environment/environment.ts';
import type { MailSettings } from '../mail/mailer.ts';

/** The settings from the environment. */
export interface Settings {
  /** In requests per minute, used without `--limit`. */
  readonly defaultLimit: number;
  /** The address of the pages, for links in mails. */
  readonly publicUrl: string;
  readonly mail: MailSettings;
}

export type Run = (database: Database) => Promise<Outcome>;

/** The output of a verb. */
export interface Outcome {
  /** For stdout, so that programs can read it. */
  readonly data?: string;
  /** For stderr: a sentence for the operator. */
  readonly message?: string;
}

export interface Verb extends VerbSyntax {
  /**
   * Checks the arguments, before the database is opened.
   * @throws ConfigurationError if they are wrong
   */
  prepare(args: VerbArguments & Settings): Run;
}

/** The types of the values of options, such as `string | undefined` for `{ type: 'string' }`. */
type Values<O extends ParseArgsOptionsConfig> = ReturnType<
  typeof parseArgs<{ options: O }>
>['values'];

interface TypedVerb<O extends ParseArgsOptionsConfig> extends VerbSyntax {
  readonly options: O;
  prepare(args: Settings & { options: Values<O>; positionals: readonly string[] }): Run;
}

/** Makes a verb from a definition whose `prepare` knows the types of its options. */
export function makeVerb<const O extends ParseArgsOptionsConfig>(verb: TypedVerb<O>): Verb {
  return {
    ...verb,
    // The options were parsed according to `verb.options`, which the common type `Verb` cannot express.
    prepare: (args) => verb.prepare({ ...args, options: args.options as Values<O> }),
  };
}

/** The part of a review that is the same for every verb: an operator acts, now. */
export function operator({ publicUrl }: Settings) {
  return { by: null, at: new Date(), publicUrl };
}

/** Parses the first argument, the id of a key. */
export function idOf([text = '']: readonly string[]): number {
  return parseId(text, 'The id of a key is a number, as "list" shows it');
}

/** Parses the id of an account. */
export function parseAccountId(text: string): number {
  return parseId(text, 'The id of an account is a number, as "account list" shows it');
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

/**
 * Checks that a required option is there and not empty.
 * @param why the reason why it is required, to end the sentence of the error
 */
export function requireText(name: string, text: string | undefined, why: string): string {
  if (text !== undefined && text.trim() !== '') return text;
  throw new ConfigurationError(`${name} is missing: ${why}.`);
}
