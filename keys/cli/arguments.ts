/**
 * Describes a verb of `cover-catalogue keys`, and parses its arguments. Wrong arguments are reported
 * before the database is opened.
 */
import type { ParseArgsOptionsConfig, parseArgs } from 'node:util';
import type { Database } from '../../database/database.ts';
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

/**
 * Parses an id.
 * @param rule the beginning of the error: which id, and where the operator finds it
 */
export function parseId(text: string, rule: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new ConfigurationError(`${rule}, not ${JSON.stringify(text)}.`);
}

/** Parses a whole number from 1 to `largest`. */
export function parseCount(name: string, text: string, largest: number): number {
  const count = /^[1-9]\d{0,8}$/.test(text) ? Number(text) : 0;
  if (count >= 1 && count <= largest) return count;
  throw new ConfigurationError(
    `${name} must be a whole number from 1 to ${largest}, not ${JSON.stringify(text)}.`,
  );
}

/** @returns the text, which must be one of those that are allowed */
export function parseChoice<T extends string>(
  name: string,
  text: string,
  allowed: readonly T[],
): T {
  const found = allowed.find((choice) => choice === text);
  if (found !== undefined) return found;
  throw new ConfigurationError(
    `${name} must be one of ${allowed.join(', ')}, not ${JSON.stringify(text)}.`,
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
