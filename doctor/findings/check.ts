/**
 * The interface of checks. A check looks at one part of an installation and adds findings. It never changes
 * anything. Every problem has a fix, so that an operator always gets a next step.
 */
import type { Database } from '../../database/database.ts';
import type { Environment } from '../../program/environment/environment.ts';
import type { VariableName } from '../../program/environment/variables.ts';

/** The programs that an installation can have; each check concerns some of them. */
export const PROGRAMS = ['schedule', 'proxy', 'account', 'replica'] as const;
export type Program = (typeof PROGRAMS)[number];

export type Level = 'ok' | 'warning' | 'error' | 'skipped';

export interface Finding {
  readonly level: Level;
  readonly text: string;
  /** What to do; only `ok` has none. */
  readonly fix?: string;
  /** Records or counts that the text announces. */
  readonly data?: unknown;
}

/** Collects the findings of one check. Every text is one or more sentences. */
export interface Findings {
  ok(text: string, data?: unknown): void;
  /** Something that is probably a mistake, but does not stop the service. */
  warn(text: string, fix: string): void;
  /** Something that does not work, or will not. */
  error(text: string, fix: string): void;
  /** Something that could not be checked, and why. */
  skip(text: string, fix: string): void;
}

/** The input of every check. */
export interface Scene {
  /** The variables that are valid. Those with a fault are missing; the check of the configuration reports them. */
  readonly values: Partial<Environment<VariableName>>;
  /** What is wrong with the configuration, one sentence for each fault. */
  readonly faults: readonly string[];
  /** Misspelled names of variables, one sentence for each. */
  readonly misspelled: readonly string[];
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** The programs that are checked. */
  readonly programs: readonly Program[];
  /** The user that the proxy runs as, if the operator named it. */
  readonly proxyUser: string | undefined;
  /**
   * The open database. Only its own check reports why it cannot be opened.
   * @throws CannotRun
   */
  database(): Promise<Database>;
}

export interface Check {
  /** One or two words, also the name in JSON. */
  readonly name: string;
  readonly programs: readonly Program[];
  /** @throws CannotRun, or any other Error, which becomes a finding */
  run(scene: Scene, findings: Findings): Promise<void>;
}

/** A check lacks something that it needs. */
export class CannotRun extends Error {
  override readonly name = 'CannotRun';
  readonly fix: string;

  constructor(why: string, fix: string) {
    super(why);
    this.fix = fix;
  }
}

/**
 * The value of a variable that a check needs.
 * @throws CannotRun if it is not valid
 */
export function requireValue<Name extends VariableName>(
  { values }: Scene,
  name: Name,
): Environment<VariableName>[Name] {
  const value = values[name];
  if (value !== undefined) return value;
  throw new CannotRun(
    `${name} is not valid.`,
    `Correct ${name} first, as the check of the configuration says.`,
  );
}
