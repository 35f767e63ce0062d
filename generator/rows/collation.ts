/** A collator for title order. The locale "en" has no rules of its own: this is the root collation with options. */
export function makeCollator(): Intl.Collator {
  return new Intl.Collator('en-u-kn', { sensitivity: 'base' });
}

/** Compares two texts by their UTF-16 code units. */
export function compareUnits(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
