/** How checks report a row that breaks the contract, and a row that is published but probably wrong. */
import type { Value } from '../../database/database.ts';

interface Cause {
  /**
   * The row itself is valid, and is left out only because another row is, or is not there: a platform,
   * game or cover that was deleted is an intention.
   */
  readonly isConsequence?: boolean;
  /**
   * The fault depends on rows of other blocks, so that it must be looked for in every run; or on the order
   * of all rows, so that the next run must read all of them.
   */
  readonly dependsOn?: 'its block' | 'other blocks' | 'all rows';
}

/** Thrown for a row that breaks the contract and is left out. The message is the reason. */
export class RowFault extends Error {
  override readonly name = 'RowFault';
  /** The wrong value. */
  readonly value: Value;
  readonly isConsequence: boolean;
  readonly dependsOn: NonNullable<Cause['dependsOn']>;

  constructor(reason: string, value: Value, cause: Cause = {}) {
    super(reason);
    this.value = value;
    this.isConsequence = cause.isConsequence ?? false;
    this.dependsOn = cause.dependsOn ?? 'its block';
  }
}

/** Notes what is probably wrong with a row that is published. */
export type Note = (reason: string, value: Value) => void;
