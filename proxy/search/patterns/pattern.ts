/**
 * A reading of a query as a pattern: for each of its words, the ways to match it, alone or together with
 * the words after it. A way is either one word of a title, or two or three neighbouring words of a title
 * that the query writes as one word.
 */
import type { NumberSet } from '../sets/number-set.ts';

/** At most this many neighbouring words count as one. */
export const MOST_JOINED = 3;

/** What one word of a title may be. */
export interface WordChoice {
  /** The numbers of words that match whole. */
  readonly numbers: readonly number[];
  /** The range of the words that begin with the last word of the query: `from` inclusive, `to` exclusive. */
  readonly prefix: readonly [from: number, to: number] | undefined;
}

/** One way to match neighbouring words of a query. */
export interface Way {
  /** How many words of the query it matches. */
  readonly queryWords: number;
  /** What the neighbouring words of a title may be: one choice for each. */
  readonly choices: readonly WordChoice[];
  /** Whether a part of a word in a script without spaces is enough, whatever the choices are. */
  readonly allowsParts: boolean;
  /** The readings that match. */
  readonly readings: () => NumberSet;
  /** Those of them that match without a prefix. */
  readonly wholeReadings: () => NumberSet;
}

/** For each word of a query, by position, the ways to match it and the words after it. */
export type Pattern = readonly (readonly Way[])[];

/** Whether a way matches one word of the query with one word of a title. A word has at most one such way. */
export function isSingle({ queryWords, choices }: Way): boolean {
  return queryWords === 1 && choices.length === 1;
}

/** A function that makes something at its first call, and returns the same from then on. */
export function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
