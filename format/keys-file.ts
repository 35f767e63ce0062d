/**
 * `keys.json`: all that the proxy knows about API keys. It contains hashes, never keys. The generator
 * writes the file so that only its owner can read it (and the group, in a setgid folder). It updates the
 * modification time whenever the content agrees with the database.
 */
import type { KeyState } from './api-key.ts';
import { parseFile } from './json/parse-file.ts';
import { isSha256 } from './json/values.ts';
import { KEYS_FILE } from './layout.ts';

/**
 * The highest limit of a key, in requests per minute. The proxy needs eight bytes of memory for each
 * request that counts.
 */
export const LARGEST_LIMIT = 1_000_000;
/** The highest daily quota of a key. */
export const LARGEST_QUOTA = 2_000_000_000;
const KEYS_VERSION = 1;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

/**
 * The states of the keys in the file. A pending key is in it only during a trial, as an approved key
 * that ends. A key whose request was withdrawn is in it as a revoked one.
 */
export type DecidedState = Exclude<KeyState, 'pending' | 'withdrawn'>;
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
  /** When an approved key stops working, in milliseconds since 1970; undefined if it does not. */
  readonly endsAt?: number | undefined;
  /** The raw key that was rotated, while it still works beside the new one. */
  readonly previous?: PreviousHash | undefined;
}

export interface PreviousHash {
  readonly hash: string;
  readonly endsAt: number;
}

/** The largest keys file that is read, in bytes: enough for about half a million keys. */
export const LARGEST_KEYS_FILE = 64 * 1024 * 1024;

/** The bytes of the file: one key per line, in the order of their ids. */
export function encodeKeys(keys: readonly KeyEntry[]): string {
  const lines = [...keys]
    .sort((a, b) => a.id - b.id)
    .map(({ id, hash, state, limit, dailyQuota: daily_quota, endsAt, previous }) =>
      JSON.stringify({
        id,
        hash,
        ...encodeState(state),
        limit,
        daily_quota,
        ends_at: encodeTime(endsAt),
        previous: previous && { hash: previous.hash, ends_at: encodeTime(previous.endsAt) },
      }),
    );
  return `{"version":${KEYS_VERSION},"keys":[${lines.length > 0 ? `\n${lines.join(',\n')}\n` : ''}]}\n`;
}

/** Older proxies do not know suspended keys. They read the key as revoked, and refuse it. */
function encodeState(state: DecidedState) {
  return state === 'suspended' ? { state: 'revoked', suspended: true } : { state };
}

/** RFC 3339 in UTC, with whole seconds: a key may end a little early, never late. */
function encodeTime(time: number | undefined): string | undefined {
  return time === undefined ? undefined : `${new Date(time).toISOString().slice(0, 19)}Z`;
}

/** An entry of the file with the names and the state that the program uses. */
function fromFile(entry: unknown): unknown {
  const {
    suspended,
    daily_quota: dailyQuota,
    ends_at: endsAt,
    previous,
    ...key
  }: Record<string, unknown> = Object(entry);
  const isSuspended = key.state === 'revoked' && suspended === true;
  return {
    ...key,
    ...(isSuspended ? { state: 'suspended' } : {}),
    dailyQuota,
    endsAt: timeFromFile(endsAt),
    previous: previousFromFile(previous),
  };
}

function previousFromFile(previous: unknown): unknown {
  if (previous === undefined) return undefined;
  const { hash, ends_at: endsAt }: Record<string, unknown> = Object(previous);
  // Without an end, it would work for ever.
  return { hash, endsAt: timeFromFile(endsAt) ?? Number.NaN };
}

/** @returns NaN, which no entry may have, for anything but a time or undefined */
function timeFromFile(time: unknown): number | undefined {
  if (time === undefined) return undefined;
  return typeof time === 'string' && TIME.test(time) ? Date.parse(time) : Number.NaN;
}

/**
 * @param text the content of the file
 * @throws Error that says what is wrong; for a file of another version, with both versions
 */
export function parseKeys(text: string): KeyEntry[] {
  const { keys } = parseFile(text, KEYS_FILE, KEYS_VERSION);
  if (!Array.isArray(keys)) throw new Error(`${KEYS_FILE} is damaged: "keys" is not a list.`);
  return keys.map((entry: unknown, index) => {
    const key = fromFile(entry);
    if (!isKeyEntry(key)) {
      throw new Error(`${KEYS_FILE} is damaged: entry ${index + 1} is not a key.`);
    }
    const { id, hash, state, limit, dailyQuota, endsAt, previous } = key;
    return {
      id,
      hash,
      state,
      limit,
      ...(dailyQuota === undefined ? {} : { dailyQuota }),
      ...(endsAt === undefined ? {} : { endsAt }),
      ...(previous === undefined ? {} : { previous }),
    };
  });
}

/** Whether a value is a valid entry of the file. */
export function isKeyEntry(value: unknown): value is KeyEntry {
  const {
    id,
    hash,
    state,
    limit,
    dailyQuota,
    endsAt,
    previous,
  }: Partial<Record<keyof KeyEntry, unknown>> = Object(value);
  return (
    Number.isSafeInteger(id) &&
    isSha256(hash) &&
    DECIDED_STATES.includes(state) &&
    typeof limit === 'number' &&
    Number.isSafeInteger(limit) &&
    limit >= 1 &&
    limit <= LARGEST_LIMIT &&
    (dailyQuota === undefined || isDailyQuota(dailyQuota)) &&
    (endsAt === undefined || isTime(endsAt)) &&
    (previous === undefined || isPrevious(previous))
  );
}

function isPrevious(value: unknown): boolean {
  const { hash, endsAt }: Partial<Record<keyof PreviousHash, unknown>> = Object(value);
  return isSha256(hash) && isTime(endsAt);
}

function isTime(value: unknown): boolean {
  return Number.isSafeInteger(value);
}

/** Whether a value can be a daily quota. */
export function isDailyQuota(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 1 && Number(value) <= LARGEST_QUOTA;
}
