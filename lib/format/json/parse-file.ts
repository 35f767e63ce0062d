/**
 * Parses JSON of files and of answers that may be hostile. Nested or empty arrays take 50 times the memory of their
 * text, so depth and number are checked before; and errors show values cut and without control characters.
 */
import { isObject, type Members, type Shape } from './values.ts';

/** How deep arrays and objects may be nested, with the outermost: deeper than in any file of the product. */
const DEEPEST = 8;
/** In bytes, of an array or object on average, beyond the first thousand: fewer than in any file of the product. */
const SHORTEST = 10;
const MOST_SHORT = 1_000;
/** In characters. */
const LONGEST_SHOWN = 100;

/** A value as an error may show it: at most {@link LONGEST_SHOWN} printable characters. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  const cut = text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}...` : text;
  return cut.replace(/[^ -~]/g, '?');
}

/**
 * Parses an object.
 * @param what what the text is, for errors
 * @throws Error that says what is wrong
 */
export function parseObject(text: Buffer | string, what: string): Record<string, unknown> {
  const fault = whyTooLarge(text);
  if (fault !== undefined) throw new Error(`${what} is damaged: ${fault}.`);
  let found: unknown;
  try {
    found = JSON.parse(text.toString());
  } catch (cause) {
    throw new Error(`${what} is damaged: it is not JSON.`, { cause });
  }
  if (!isObject(found)) throw new Error(`${what} is damaged: it is not an object.`);
  return found;
}

/**
 * @param file the name of the file, used in errors
 * @returns the members of the file; only `version` has been checked
 * @throws Error that says what is wrong; for a file of another version, with both versions
 */
export function parseFile(
  text: string,
  file: string,
  version: number | undefined,
): Record<string, unknown> {
  const found = parseObject(text, file);
  if (found.version === version) return found;
  throw new Error(
    `${file} has version ${shown(found.version)}; this program reads version ${version}.`,
  );
}

/**
 * Checks the members of an object.
 * @returns only those that the shape names
 * @throws Error that names the first wrong one
 */
export function readMembers<S extends Shape>(
  found: Readonly<Record<string, unknown>>,
  what: string,
  shape: S,
): Members<S> {
  const members = Object.entries(shape).map(([name, isRight]) => {
    if (isRight(found[name])) return [name, found[name]];
    throw new Error(`${what} is damaged: "${name}" is ${shown(found[name])}.`);
  });
  return Object.fromEntries(members);
}

/** The largest file of {@link jsonFile} that is read, in bytes. */
export const LARGEST_JSON_FILE = 1024 * 1024;

/**
 * A small file with one object, such as `status.json`.
 * @param version in the file; undefined if it has none
 * @param shape of all members but the version
 */
export function jsonFile<S extends Shape>(name: string, version: number | undefined, shape: S) {
  return {
    encode(content: Members<S>): string {
      const members = Object.keys(shape).map((member) => [member, content[member]]);
      return `${JSON.stringify({ version, ...Object.fromEntries(members) }, null, 1)}\n`;
    },
    /** @throws Error that says what is wrong; for a file of another version, with both versions */
    parse(text: string): Members<S> {
      return readMembers(parseFile(text, name, version), name, shape);
    },
  };
}

// In UTF-8, no byte of a longer character equals one of these.
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Why the value of a text could need far more memory than the text; undefined if it cannot. */
function whyTooLarge(text: Buffer | string): string | undefined {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  const most = MOST_SHORT + bytes.length / SHORTEST;
  let opened = 0;
  let depth = 0;
  let isString = false;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (byte === QUOTE) isString = !isString;
    else if (isString) {
      if (byte === BACKSLASH) i++;
    } else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
      if (++depth > DEEPEST) return `it is nested more than ${DEEPEST} deep`;
      if (++opened > most) return `it has more than ${Math.floor(most)} arrays and objects`;
    } else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) depth--;
  }
  return undefined;
}
