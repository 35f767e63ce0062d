/** Checks of values that several JSON files contain. */

import { isCount, isObject } from '../../columns/container.ts';

export { isCount, isObject };

export function isString(value: unknown): value is string {
  return typeof value === 'string';
}

/** Checks a value, which has a type if it passes. */
export type TypeGuard<T> = (value: unknown) => value is T;

/** A check for each member of an object. */
export type Shape = Readonly<Record<string, TypeGuard<unknown>>>;

/** The type of the values that pass a check. */
export type Checked<C> = C extends TypeGuard<infer T> ? T : never;

/** The type of an object whose members pass the checks of a shape. */
export type Members<S extends Shape> = { readonly [Name in keyof S]: Checked<S[Name]> };

/** @returns a check that also lets null pass */
export function orNull<T>(check: TypeGuard<T>): TypeGuard<T | null> {
  return (value): value is T | null => value === null || check(value);
}

/** @returns a check that also lets undefined pass, as that of an absent member */
export function orAbsent<T>(check: TypeGuard<T>): TypeGuard<T | undefined> {
  return (value): value is T | undefined => value === undefined || check(value);
}

/** @returns a check for a list whose entries all pass a check */
export function listOf<T>(check: TypeGuard<T>): TypeGuard<readonly T[]> {
  return (value): value is readonly T[] => Array.isArray(value) && value.every(check);
}

/** @returns a check that lets one of these values pass */
export function oneOf<const T>(...values: readonly T[]): TypeGuard<T> {
  return (value): value is T => (values as readonly unknown[]).includes(value);
}

/** @returns a check for texts that match a pattern */
export function matching(pattern: RegExp): TypeGuard<string> {
  return (value): value is string => isString(value) && pattern.test(value);
}

/** @returns a check for an object in which each of these members passes its check */
export function withMembers<S extends Shape>(shape: S): TypeGuard<Members<S>> {
  const checks = Object.entries(shape);
  return (value): value is Members<S> =>
    isObject(value) && checks.every(([name, isRight]) => isRight(value[name]));
}

/** Whether a value is a SHA-256 in hex. */
export const isSha256 = matching(/^[0-9a-f]{64}$/);

/** Whether a value is the text of a time. */
export function isTime(value: unknown): value is string {
  return typeof value === 'string' && !Number.isNaN(Date.parse(value));
}

/** Whether a value is the sequence of a generation or a release. */
export function isSequence(value: unknown): value is number {
  return isCount(value) && value >= 1;
}
