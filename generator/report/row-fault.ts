/** Why a row is left out, and why a published one deserves a look. */
import type { Value } from '../../database/database.ts';

/** Thrown for a row that breaks the contract and is left out. The message is the reason. */
export class RowFault extends Error {
  override readonly name = 'RowFault';
  /** The wrong value. */
  readonly value: Value;
  /** The row itself is right; it is left out only because another one is. */
  readonly isConsequence: boolean;

  constructor(reason: string, value: Value, isConsequence = false) {
    super(reason);
    this.value = value;
    this.isConsequence = isConsequence;
  }
}

/** Notes why a row that is published deserves an operator's look. */
export type Note = (reason: string, value: Value) => void;
