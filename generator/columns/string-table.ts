/**
 * A string table: stores each distinct string once, and numbers the strings from 0 in the order in which
 * they are first added.
 */
export interface StringTable {
  /** The number of a string, which is added if it is new. */
  numberOf(text: string): number;
  /** All strings; the index of each is its number. */
  texts(): string[];
}

export function makeStringTable(): StringTable {
  const numbers = new Map<string, number>();
  return {
    numberOf(text) {
      const known = numbers.get(text);
      if (known !== undefined) return known;
      const number = numbers.size;
      numbers.set(text, number);
      return number;
    },
    texts: () => [...numbers.keys()],
  };
}
