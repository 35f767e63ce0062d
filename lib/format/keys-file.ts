/**
 * `keys.json`: all that the proxy knows about API keys. It contains hashes, never keys. `schedule`
 * writes the file so that only its owner can read it (and the group, in a setgid folder). It updates the
 * modification time whenever the content agrees with the database.
 */
import type { KeyState } from './api-key.ts';
import { parseFile } from './json/parse-file.ts';
import {
  type Checked,
  isCount,
  isSequence,
  isSha256,
  isTime,
  oneOf,
  orAbsent,
  withMembers,
} from './json/values.ts';
import { KEYS_FILE } from './layout.ts';

/**
 * The highest limit of a key, in requests per minute. The proxy needs eight bytes of memory for each
 * request that counts.
 */
export const LARGEST_LIMIT = 1_000_000;
const KEYS_VERSION = 1;

/** The states of the keys in the file. A request has no key before it is approved. */
export type DecidedState = Exclude<KeyState, 'pending' | 'granted' | 'withdrawn'>;

/** Whether a value is a valid entry of the file. */
export const isKeyEntry = withMembers({
  /** The row's id in `api_keys`. Logs and metrics identify the key by it. */
  id: isCount,
  /** The SHA-256 of the raw key, 64 hex digits. */
  hash: isSha256,
  state: oneOf<DecidedState>('approved', 'rejected', 'revoked'),
  /** How many requests are allowed in any 60 seconds. */
  limit: (value: unknown): value is number => isSequence(value) && value <= LARGEST_LIMIT,
  ends_at: orAbsent(isTime),
});

export interface KeyEntry extends Omit<Checked<typeof isKeyEntry>, 'ends_at'> {
  /** When an old key stops working, also if nobody writes the file: the ISO text of a time, in UTC. */
  readonly ends_at?: string | undefined;
}

/** The largest keys file that is read, in bytes: enough for about half a million keys. */
export const LARGEST_KEYS_FILE = 64 * 1024 * 1024;

/** The bytes of the file: one key per line, in the order of their ids. */
export function encodeKeys(keys: readonly KeyEntry[]): string {
  const lines = [...keys]
    .sort((a, b) => a.id - b.id)
    .map(({ id, hash, state, limit, ends_at }) =>
      JSON.stringify({ id, hash, state, limit, ends_at }),
    );
  return `{"version":${KEYS_VERSION},"keys":[${lines.length > 0 ? `\n${lines.join(',\n')}\n` : ''}]}\n`;
}

/**
 * @param text the content of the file
 * @throws Error that says what is wrong; for a file of another version, with both versions
 */
export function parseKeys(text: string): KeyEntry[] {
  const { keys } = parseFile(text, KEYS_FILE, KEYS_VERSION);
  if (!Array.isArray(keys)) throw new Error(`${KEYS_FILE} is damaged: "keys" is not a list.`);
  return keys.map((key: unknown, index) => {
    if (!isKeyEntry(key)) {
      throw new Error(`${KEYS_FILE} is damaged: entry ${index + 1} is not a key.`);
    }
    const { id, hash, state, limit, ends_at }: KeyEntry = key;
    return { id, hash, state, limit, ends_at };
  });
}
