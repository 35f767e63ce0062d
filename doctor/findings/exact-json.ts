/**
 * Parses JSON so that `JSON.stringify` gives the same text again. Without this, ids beyond 2^53 would
 * be rounded.
 */

declare global {
  interface JSON {
    /** Part of V8 since Node 21, but not of the library that the type check uses. */
    rawJSON(text: string): unknown;
  }
}

/** The third argument of a reviver: the text of a value that is not an object. */
interface Context {
  readonly source?: string;
}

export function parseExactly(text: string): unknown {
  return JSON.parse(text, (_, value: unknown, ...[context]: Context[]) => {
    const source = context?.source;
    const isRounded = typeof value === 'number' && source !== undefined && String(value) !== source;
    return isRounded ? JSON.rawJSON(source) : value;
  });
}
