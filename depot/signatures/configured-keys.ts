/**
 * The keys that variables name. Each entry is a key, as one line, or a file with one key per line. No
 * error quotes a private key: their messages continue a sentence that begins with the variable's name.
 */
import { readBoundedFileSync } from '../../program/files/bounded-file.ts';
import {
  isKeyText,
  readSigningKey,
  readVerifyingKey,
  type SigningKey,
  type VerifyingKey,
} from './keys.ts';

/** In bytes. */
const LARGEST_KEY_FILE = 16 * 1024;

/**
 * @param text of `SNAPSHOT_SIGNING_KEY`: usually one entry; several, separated by commas, sign with each
 * @throws Error that says what is wrong
 */
export function readSigningKeys(text: string): SigningKey[] {
  return entriesOf(text, 'must be a private key or a file with one').map(readSigningKey);
}

/**
 * @param text of `SNAPSHOT_PUBLIC_KEYS`: entries, separated by commas
 * @throws Error that says what is wrong
 */
export function readVerifyingKeys(text: string): VerifyingKey[] {
  return entriesOf(text, 'must list public keys or files with them').map(readVerifyingKey);
}

function entriesOf(text: string, rule: string): string[] {
  return text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
    .flatMap((entry) => (isKeyText(entry) ? [entry] : linesOf(entry, rule)));
}

function linesOf(file: string, rule: string): string[] {
  let content: string;
  try {
    content = readBoundedFileSync(file, LARGEST_KEY_FILE).toString('utf8');
  } catch (cause) {
    // The entry may be a damaged private key, which no message may quote.
    throw new Error(`${rule}, and no such file can be read (${codeOf(cause)}).`, { cause });
  }
  const lines = content.split('\n').map((line) => line.trim());
  return lines.filter((line) => line !== '' && !line.startsWith('#'));
}

function codeOf(cause: unknown): string {
  return (cause as NodeJS.ErrnoException).code ?? 'it is not a regular, small file';
}
