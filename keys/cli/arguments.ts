/**
 * Describes a verb of `cover-catalogue keys`, and turns the words after it into values. Wrong words are
 * reported before any database is opened.
 */
import type { ParseArgsOptionsConfig, parseArgs } from 'node:util';
import type { Database } from '../../database/database.ts';
import { LARGEST_LIMIT } from '../../format/keys-file.ts';
import { ConfigurationError } from '../../program/environment/environment.ts';
import type { VerbArguments, VerbSyntax } from '../../program/verbs.ts';
import type { MailSettings } from '../mail/mailer.ts';

/** What the environment says. */
export interface Settings {
  /** Requests a minute where no `--limit` is given. */
  readonly defaultLimit: number;
  /** Where the pages are reached, for links in mails. */
  readonly publicUrl: string;
  readonly mail: MailSettings;
}

export type Run = (database: Database) => Promise<Outcome>;

/** What a verb did. */
export interface Outcome {
  /** For stdout: what programs read. */
  readonly data?: string;
  /** For stderr: a sentence to the operator. */
  readonly message?: string;
}

/** Checks the arguments of a verb, before any database is opened. */
export interface Verb extends VerbSyntax {
  /** @throws ConfigurationError when they are wrong */
  prepare(args: VerbArguments & Settings): Run;
}

/** The values of options, such as string | undefined for `{ type: 'string' }`. */
type Values<O extends ParseArgsOptionsConfig> = ReturnType<
  typeof parseArgs<{ options: O }>
>['values'];

interface TypedVerb<O extends ParseArgsOptionsConfig> extends VerbSyntax {
  readonly options: O;
  prepare(args: Settings & { options: Values<O>; positionals: readonly string[] }): Run;
}

/** A verb whose `prepare` gets the types of its options. */
export function makeVerb<const O extends ParseArgsOptionsConfig>(verb: TypedVerb<O>): Verb {
  return {
    ...verb,
    // They were parsed by `verb.options`, which the type of all verbs does not show.
    prepare: (args) => verb.prepare({ ...args, options: args.options as Values<O> }),
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
