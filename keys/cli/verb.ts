/** What a verb of `cover-catalogue keys` is, and the arguments that several verbs have. */
import type { Database } from '../../lib/database/database.ts';
import type { Arguments, VerbSyntax } from '../../lib/program/arguments.ts';
import { ConfigurationError } from '../../lib/program/environment/environment.ts';
import type { MailSettings } from '../mail/mailer.ts';

/** The settings from the environment. */
export interface KeySettings {
  /** In requests per minute, used without `--limit`. */
  readonly defaultLimit: number;
  /** The address of the pages, for links in mails. */
  readonly publicUrl: string;
  readonly mail: MailSettings;
  readonly snapshotsDir: string;
}

/** The output of a verb. */
interface VerbOutput {
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
  prepare(args: Arguments, settings: KeySettings): (database: Database) => Promise<VerbOutput>;
}

/**
 * Parses an id.
 * @param parse returns undefined for a text that is not an id
 * @param rule the beginning of the error: which id, and where the operator finds it
 */
export function parseId<Id>(
  text: string,
  parse: (text: string) => Id | undefined,
  rule: string,
): Id {
  const id = parse(text);
  if (id !== undefined) return id;
  throw new ConfigurationError(`${rule}, not ${JSON.stringify(text)}.`);
}

/**
 * Checks that a required option is there and not empty.
 * @param why the reason why it is required, to end the sentence of the error
 */
export function requireText(name: string, text: string | undefined, why: string): string {
  if (text !== undefined && text.trim() !== '') return text;
  throw new ConfigurationError(`${name} is missing: ${why}.`);
}
