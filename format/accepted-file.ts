/**
 * `accepted.json`: the newest pointers that a replica has accepted. The replica never accepts older ones,
 * so even somebody who controls the store cannot bring back an old generation or a revoked key. If the file
 * is damaged, the replica accepts nothing until an operator removes the file.
 */
import { parseFile } from './json/parse-file.ts';
import { isSequence, isSha256 } from './json/values.ts';
import type { KeysPointer } from './keys-pointer.ts';
import { ACCEPTED_FILE, isGenerationId } from './layout.ts';
import type { Pointer } from './pointer.ts';

const VERSION = 1;
/** The largest file that is read, in bytes. */
export const LARGEST_ACCEPTED_FILE = 16 * 1024;

export interface Accepted {
  readonly snapshot: Pick<Pointer, 'sequence' | 'id' | 'manifest_sha256'> | null;
  readonly keys: Pick<KeysPointer, 'sequence' | 'sha256'> | null;
}

export function encodeAccepted({ snapshot, keys }: Accepted): string {
  return `${JSON.stringify({ version: VERSION, snapshot, keys }, null, 1)}\n`;
}

/** @throws Error that says what is wrong */
export function parseAccepted(text: string): Accepted {
  const { snapshot, keys } = parseFile(text, ACCEPTED_FILE, VERSION);
  const isRight =
    (snapshot === null || isAcceptedSnapshot(snapshot)) && (keys === null || isAcceptedKeys(keys));
  if (isRight) return { snapshot, keys };
  throw new Error(`${ACCEPTED_FILE} is damaged: it does not name what was accepted.`);
}

function isAcceptedSnapshot(value: unknown): value is NonNullable<Accepted['snapshot']> {
  const { sequence, id, manifest_sha256 }: Partial<Record<string, unknown>> = Object(value);
  return (
    isSequence(sequence) &&
    typeof id === 'string' &&
    isGenerationId(id) &&
    isSha256(manifest_sha256)
  );
}

function isAcceptedKeys(value: unknown): value is NonNullable<Accepted['keys']> {
  const { sequence, sha256 }: Partial<Record<string, unknown>> = Object(value);
  return isSequence(sequence) && isSha256(sha256);
}
