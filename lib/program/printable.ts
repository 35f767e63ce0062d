/**
 * Makes text safe to print to a terminal: strangers typed much of what is in a database. What a terminal
 * interprets or does not show is escaped in the syntax of JSON, so that programs read the same character back.
 */

/** Control and format characters, separators of lines, lone surrogates, private and unassigned code points. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}]/gu;

export function printable(text: string): string {
  return text.replace(UNSAFE, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}

/** "1 cover", "2300 covers" */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

export function printableJson(value: unknown): string {
  return printable(JSON.stringify(value));
}

/** Parses JSON. An integer beyond 2^53 keeps its digits: it becomes what JSON.stringify writes as it was. */
export function parseExactly(json: Buffer): unknown {
  return JSON.parse(String(json), (_, value, context?: { source: string }) =>
    Number.isInteger(value) && !Number.isSafeInteger(value) ? rawJson(context?.source) : value,
  );
}

/** TypeScript 7 does not know this function of Node yet. */
const rawJson = (JSON as unknown as { rawJSON(text?: string): unknown }).rawJSON;
