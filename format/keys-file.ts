/**
 * `keys.json`: all that the proxy knows of API keys. It holds hashes, never keys, and is written by
 * the generator with mode 0600; the file's modification time says when it last agreed with the
 * database.
 */
import { KEYS_FILE } from './layout.ts';

/** The largest limit of a key, in requests a minute: each takes eight bytes of the proxy. */
export const LARGEST_LIMIT = 1_000_000;
const KEYS_VERSION = 1;

export type KeyState = 'approved' | 'rejected' | 'revoked';

export interface KeyEntry {
  /** The row's id in `api_keys`; what logs and metrics call the key. */
  readonly id: number;
  /** SHA-256 of the raw key, 64 hex digits. */
  readonly hash: string;
  readonly state: KeyState;
  /** Requests in any 60 seconds, at least 1. */
  readonly limit: number;
}

/** The largest keys file that is read, in bytes: about half a million keys. */
export const LARGEST_KEYS_FILE = 64 * 1024 * 1024;

/** The bytes of the file: one key a line, in the order of their ids. */
export function encodeKeys(keys: readonly KeyEntry[]): string {
  const lines = [...keys]
    .sort((a, b) => a.id - b.id)
    .map(({ id, hash, state, limit }) => JSON.stringify({ id, hash, state, limit }));
  return `{"version":${KEYS_VERSION},"keys":[${lines.length > 0 ? `\n${lines.join(',\n')}\n` : ''}]}\n`;
}

/**
 * @param text the content of the file
 * @throws Error naming the fault; a file of another version is refused naming both versions
 */
export function parseKeys(text: string): KeyEntry[] {
  let found: { version?: unknown; keys?: unknown };
  try {
    found = JSON.parse(text) ?? {};
  } catch (cause) {
    throw new Error(`${KEYS_FILE} is damaged: it is not JSON.`, { cause });
  }
  if (found.version !== KEYS_VERSION) {
    throw new Error(
      `${KEYS_FILE} has version ${JSON.stringify(found.version)}; this program reads version ${KEYS_VERSION}.`,
    );
  }
  if (!Array.isArray(found.keys)) throw new Error(`${KEYS_FILE} is damaged: "keys" is no list.`);
  return found.keys.map((key: KeyEntry, place: number) => {
    if (!isKeyEntry(key)) throw new Error(`${KEYS_FILE} is damaged: entry ${place + 1} is no key.`);
    return { id: key.id, hash: key.hash, state: key.state, limit: key.limit };
  });
}

/** Whether every member of an entry is what the file may hold. */
export function isKeyEntry(key: KeyEntry | null | undefined): boolean {
  return (
    Number.isSafeInteger(key?.id) &&
    typeof key?.hash === 'string' &&
    /^[0-9a-f]{64}$/.test(key.hash) &&
    ['approved', 'rejected', 'revoked'].includes(key.state) &&
    Number.isSafeInteger(key.limit) &&
    key.limit >= 1 &&
    key.limit <= LARGEST_LIMIT
  );
}
