/** Converts values of rows that may be NULL. */
import type { Value } from '../../database/database.ts';

export function toText(value: Value): string | null {
  return value === null ? null : String(value);
}

export function toNumber(value: Value): number | null {
  return value === null ? null : Number(value);
}
