/**
 * `keys.json`: all that the proxy knows about API keys. It holds hashes, never keys. The generator
 * writes the file so that only its owner can read it (and the group, in a setgid folder). It updates
 * the modification time whenever the content agrees with the database.
 */
import type { KeyState } from './api-key.ts';
import { KEYS_FILE } from './layout.ts';

/**
 * The highest limit of a key, in requests per minute. The proxy needs eight bytes of memory for each
 * request that counts.
 */
export const LARGEST_LIMIT = 1_000_000;
/** The highest daily quota of a key. */
export const LARGEST_QUOTA = 2_000_000_000;
const KEYS_VERSION = 1;

/** The states of the keys in the file. Keys that are still pending are not in it. */
export type DecidedState = Exclude<KeyState, 'pending'>;
const DECIDED_STATES: readonly unknown[] = [
  'approved',
  'suspended',
  'rejected',
  'revoked',
] satisfies DecidedState[];

export interface KeyEntry {
  /** The row's id in `api_keys`. Logs and metrics identify the key by it. */
  readonly id: number;
  /** The SHA-256 of the raw key, 64 hex digits. */
  readonly hash: string;
  readonly state: DecidedState;
  /** How many requests are allowed in any 60 seconds: 1 to {@link LARGEST_LIMIT}. */
  readonly limit: number;
  /** How many requests a proxy admits on a day of UTC; undefined for any number. */
  readonly dailyQuota?: number | undefined;
}

/** The largest keys file that is read, in bytes: enough for about half a million keys. */
export const LARGEST_KEYS_FILE = 64 * 1024 * 1024;

/** The bytes of the file: one key per line, in the order of their ids. */
export function encodeKeys(keys: readonly KeyEntry[]): string {
  const lines = [...keys]
    .sort((a, b) => a.id - b.id)
    .map(({ id, hash, state, limit, dailyQuota: daily_quota }) =>
      JSON.stringify({ id, hash, ...encodeState(state), limit, daily_quota }),
    );
  return `{"version":${KEYS_VERSION},"keys":[${lines.length > 0 ? `\n${lines.join(',\n')}\n` : ''}]}\n`;
}

/** Proxies of older versions know no suspended keys. They take one for revoked, and refuse it. */
function encodeState(state: DecidedState) {
  return state === 'suspended' ? { state: 'revoked', suspended: true } : { state };
}

/** An entry of the file with the names and the state that the program uses. */
function fromFile(entry: unknown): unknown {
  const { suspended, daily_quota: dailyQuota, ...key }: Record<string, unknown> = Object(entry);
  const isSuspended = key.state === 'revoked' && suspended === true;
  return { ...key, dailyQuota, ...(isSuspended ? { state: 'suspended' } : {}) };
}

/**
 * @param text the content of the file
 * @throws Error that names the fault; for a file of another version, it names both versions
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
  if (!Array.isArray(found.keys)) throw new Error(`${KEYS_FILE} is damaged: "keys" is not a list.`);
  return found.keys.map((entry: unknown, index) => {
    const key = fromFile(entry);
    if (!isKeyEntry(key)) {
      throw new Error(`${KEYS_FILE} is damaged: entry ${index + 1} is not a key.`);
    }
    const { id, hash, state, limit, dailyQuota } = key;
    return { id, hash, state, limit, ...(dailyQuota === undefined ? {} : { dailyQuota }) };
  });
}

/** Whether a value is a valid entry of the file. */
export function isKeyEntry(value: unknown): value is KeyEntry {
  const { id, hash, state, limit, dailyQuota }: Partial<Record<keyof KeyEntry, unknown>> =
    Object(value);
  return (
    Number.isSafeInteger(id) &&
    typeof hash === 'string' &&
    /^[0-9a-f]{64}$/.test(hash) &&
    DECIDED_STATES.includes(state) &&
    typeof limit === 'number' &&
    Number.isSafeInteger(limit) &&
    limit >= 1 &&
    limit <= LARGEST_LIMIT &&
    (dailyQuota === undefined || isDailyQuota(dailyQuota))
  );
}

/** Whether a value can be a daily quota. */
export function isDailyQuota(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 1 && Number(value) <= LARGEST_QUOTA;
}
