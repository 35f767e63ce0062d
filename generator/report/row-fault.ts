/** How checks report a row that breaks the contract, and a row that is published but probably wrong. */
import type { Value } from '../../database/database.ts';

/** Thrown for a row that breaks the contract and is left out. The message is the reason. */
export class RowFault extends Error {
  override readonly name = 'RowFault';
  /** The wrong value. */
  readonly value: Value;
  /**
   * Whether the row itself is valid, and was left out only because another row was, or is not there: a
   * platform, game or cover that was deleted is an intention.
   */
  readonly isConsequence: boolean;

  constructor(reason: string, value: Value, isConsequence = false) {
    super(reason);
    this.value = value;
    this.isConsequence = isConsequence;
  }
}

/** Notes what is probably wrong with a row that is published. */
export type Note = (reason: string, value: Value) => void;
