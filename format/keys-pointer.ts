/**
 * The key store (KEYS_STORE): its layout, and its pointer `keys/current.json`. The pointer contains the
 * SHA-256 of the newest keys file and the time at which that file last agreed with the database, and is
 * signed. It is the only object that is ever replaced. This module performs no input or output.
 */
import { isSequence, isSha256 } from './json/values.ts';
import { isKeyUsageFile } from './layout.ts';
import { isSignature, isTime, type PointerSignature } from './pointer.ts';

export const KEYS_POINTER = 'keys/current.json';
const KEYS = 'keys/';
const USAGE = 'usage/';

/** What the names of all objects of a kind begin with, for listing them. */
export const KEYS_PREFIXES = { keys: KEYS, usage: USAGE };

/** The object with the content of `keys.json`. */
export function remoteKeys(sha256: string): string {
  return `${KEYS}${sha256}.json`;
}

/**
 * The object with what a proxy of a replica reports about the use of keys.
 * @param replica the name of the replica
 * @param file from `keyUsageFile`
 */
export function remoteUsage(replica: string, file: string): string {
  return `${USAGE}${replica}/${file}`;
}

/** Whether {@link remoteUsage} can have made a name. */
export function isRemoteUsage(name: string): boolean {
  const [folder, replica = '', file = '', ...rest] = name.split('/');
  return (
    `${folder}/` === USAGE && isReplicaName(replica) && isKeyUsageFile(file) && rest.length === 0
  );
}

/** Whether a text can be the name of a replica. */
export function isReplicaName(text: string): boolean {
  return /^(?!\.)[A-Za-z0-9._-]{1,100}$/.test(text);
}

export interface KeysPointer {
  readonly format_version: 1;
  /** Grows with every pointer. Usually the time at which it was made, in milliseconds since 1970. */
  readonly sequence: number;
  /** The SHA-256 of the keys file, in hex. */
  readonly sha256: string;
  /** When the keys file last agreed with the database: RFC 3339 UTC with milliseconds. */
  readonly confirmed_at: string;
  /** Empty if it is not signed. */
  readonly signatures: readonly PointerSignature[];
}

/** In bytes. */
export const LARGEST_KEYS_POINTER = 16 * 1024;
const MOST_SIGNATURES = 16;

/** The signed text: everything but the signatures, after a first line that no other signed text has. */
export function signedKeysText(pointer: Omit<KeysPointer, 'signatures'>): string {
  const { format_version, sequence, sha256, confirmed_at } = pointer;
  return `cover-catalogue keys ${format_version}\n${sequence}\n${sha256}\n${confirmed_at}\n`;
}

export function encodeKeysPointer(pointer: KeysPointer): string {
  const { format_version, sequence, sha256, confirmed_at, signatures } = pointer;
  return `${JSON.stringify({ format_version, sequence, sha256, confirmed_at, signatures }, null, 1)}\n`;
}

/**
 * Parses a pointer and checks its form, not its signatures.
 * @throws Error that says what is wrong
 */
export function parseKeysPointer(text: string): KeysPointer {
  let found: Partial<Record<keyof KeysPointer, unknown>>;
  try {
    found = JSON.parse(text) ?? {};
  } catch (cause) {
    throw new Error(`${KEYS_POINTER} is damaged: it is not JSON.`, { cause });
  }
  const { format_version, sequence, sha256, confirmed_at, signatures } = found;
  if (format_version !== 1) {
    throw new Error(
      `${KEYS_POINTER} has format version ${JSON.stringify(format_version)}; this program reads version 1. Upgrade this program.`,
    );
  }
  const fault = (name: string) => new Error(`${KEYS_POINTER} is damaged: "${name}" is wrong.`);
  if (!isSequence(sequence)) throw fault('sequence');
  if (!isSha256(sha256)) throw fault('sha256');
  if (typeof confirmed_at !== 'string' || !isTime(confirmed_at)) throw fault('confirmed_at');
  if (!Array.isArray(signatures) || signatures.length > MOST_SIGNATURES) throw fault('signatures');
  if (!signatures.every(isSignature)) throw fault('signatures');
  return { format_version, sequence, sha256, confirmed_at, signatures };
}
