import type { AccountId } from '../tables/values.ts';

/** What is wrong with the value of one field of a form. */
export interface Fault {
  readonly field: string;
  readonly text: string;
}

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
  /** The fields of a form whose values are wrong. */
  readonly faults: readonly Fault[];

  constructor(
    message: string,
    kind: Refusal['kind'],
    retryAfterSeconds?: number,
    faults: readonly Fault[] = [],
  ) {
    super(message);
    this.kind = kind;
    this.retryAfterSeconds = retryAfterSeconds;
    this.faults = faults;
  }
}

/** Something that was typed is not valid. @param field the name of its field in a form */
export function invalid(message: string, field?: string): Refusal {
  const faults = field === undefined ? [] : [{ field, text: message }];
  return new Refusal(message, 'invalid', undefined, faults);
}

/**
 * Reads several fields of a form.
 * @throws Refusal with all their faults
 */
export function readAll<T>(...reads: readonly (() => T)[]): T[] {
  const faults: Fault[] = [];
  const values = reads.flatMap((read) => {
    try {
      return [read()];
    } catch (error) {
      if (!(error instanceof Refusal) || error.faults.length === 0) throw error;
      faults.push(...error.faults);
      return [];
    }
  });
  if (faults.length === 0) return values;
  throw new Refusal(faults.map(({ text }) => text).join(' '), 'invalid', undefined, faults);
}

export function noSuchKey(id: number): Refusal {
  return new Refusal(`There is no key ${id}.`, 'missing');
}

export function noSuchAccount(id: AccountId): Refusal {
  return new Refusal(`There is no account ${id}.`, 'missing');
}
