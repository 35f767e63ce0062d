import type { AccountId } from '../tables/values.ts';

/** An action was refused, and nothing was changed. The message is for the user who tried it. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  /**
   * The input is wrong, the key or account does not exist, the present state forbids the action, or there
   * were too many such actions.
   */
  readonly kind: 'invalid' | 'missing' | 'conflict' | 'limited';
  /** When the action is possible again, if there were too many. */
  readonly retryAfterSeconds: number | undefined;
  /** The field of a form whose value is wrong. */
  readonly field: string | undefined;

  constructor(message: string, kind: Refusal['kind'], retryAfterSeconds?: number, field?: string) {
    super(message);
    this.kind = kind;
    this.retryAfterSeconds = retryAfterSeconds;
    this.field = field;
  }
}

/** Something that was typed is not valid. @param field the name of its field in a form */
export function invalid(message: string, field?: string): Refusal {
  return new Refusal(message, 'invalid', undefined, field);
}

export function noSuchKey(id: number): Refusal {
  return new Refusal(`There is no key ${id}.`, 'missing');
}

export function noSuchAccount(id: AccountId): Refusal {
  return new Refusal(`There is no account ${id}.`, 'missing');
}
