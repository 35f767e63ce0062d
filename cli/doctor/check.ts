/**
 * The interface of checks. A check looks at one part of an installation and adds findings. It never
 * changes anything. Every problem has a fix, so that an operator always gets a next step.
 */
import type { Database } from '../../lib/database/database.ts';
import type { Environment } from '../../lib/program/environment/environment.ts';
import type { VariableName } from '../../lib/program/environment/variables.ts';

export const PROGRAMS = ['schedule', 'proxy', 'account', 'replica'] as const;
export type Program = (typeof PROGRAMS)[number];

export type Level = 'ok' | 'warning' | 'error' | 'skipped';

export interface Finding {
  readonly level: Level;
  readonly text: string;
  /** What to do; only `ok` has none. */
  readonly fix?: string;
  /** Records that the text announces. */
  readonly data?: readonly unknown[];
}

/** Collects the findings of one check. */
export interface Findings {
  ok(text: string, data?: readonly unknown[]): void;
  /** Something that is probably a mistake, but does not stop the service. */
  warn(text: string, fix: string): void;
  /** Something that does not work, or will not. */
  error(text: string, fix: string): void;
}

/** The input of every check. */
export interface CheckContext {
  /** The variables that are valid. */
  readonly values: Partial<Environment<VariableName>>;
  /** What is wrong with the others, one sentence for each fault. */
  readonly faults: readonly string[];
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** The programs that are checked. */
  readonly programs: readonly Program[];
  /** The user that the proxy runs as, if the operator named it. */
  readonly proxyUser: string | undefined;
  /** Set by the check "database" once the database is open. */
  database?: Database;
  /** Set by the check "sample records". */
  addresses?: SampledAddresses;
}

/** Addresses in records, as clients get them; undefined if no record has one. */
export interface SampledAddresses {
  /** The page of a platform on the site. */
  readonly platform: string | undefined;
  /** The page of a game on the site. */
  readonly game: string | undefined;
  readonly image: string | undefined;
}

export interface Check {
  /** A few words, also the name in JSON. */
  readonly name: string;
  readonly programs: readonly Program[];
  /** What to type if it fails with an error whose message names no command. */
  readonly fix: string;
  /** @throws SkippedError, or any other Error, which becomes a finding with {@link fix} */
  run(context: CheckContext, findings: Findings): Promise<void>;
}

/** A check, or the rest of it, is skipped: it lacks something that it needs. */
export class SkippedError extends Error {
  override readonly name = 'SkippedError';
  readonly fix: string;

  constructor(why: string, fix: string) {
    super(why);
    this.fix = fix;
  }
}

/** @throws SkippedError if the value of the variable is not valid */
export function requireValue<Name extends VariableName>(
  { values }: CheckContext,
  name: Name,
): Environment<VariableName>[Name] {
  const value = values[name];
  if (value !== undefined) return value;
  const fix = `Correct ${name}, as "configuration" says.`;
  throw new SkippedError(`${name} is not valid.`, fix);
}

/** @throws SkippedError if the database is not open */
export function requireDatabase({ database }: CheckContext): Database {
  if (database !== undefined) return database;
  const fix = 'Correct what the check "database" reports, and run the doctor again.';
  throw new SkippedError('The database is not open.', fix);
}
