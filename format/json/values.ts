/** Checks of values that several JSON files contain. */

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isString(value: unknown): value is string {
  return typeof value === 'string';
}

/** @returns a check that also lets null pass */
export function orNull(check: (value: unknown) => boolean): (value: unknown) => boolean {
  return (value) => value === null || check(value);
}

/** Whether a value is an object in which each of these members passes its check. */
export function hasMembers(value: unknown, shape: Record<string, (value: unknown) => boolean>) {
  return isObject(value) && Object.entries(shape).every(([name, check]) => check(value[name]));
}

/** Whether a value is a SHA-256 in hex. */
export function isSha256(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-f]{64}$/.test(value);
}

/** Whether a value is the text of a time. */
export function isTime(value: unknown): value is string {
  return typeof value === 'string' && !Number.isNaN(Date.parse(value));
}

/** Whether a value is a whole number from 0, exact in JSON. */
export function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

/** Whether a value is the sequence of a generation or a release. */
export function isSequence(value: unknown): value is number {
  return isCount(value) && value >= 1;
}
