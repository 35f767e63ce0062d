/**
 * Which pointer a push writes. A pointer is made once for each change of the current generation and kept
 * in the snapshots folder, so that pushes to several stores, and pushes that are tried again, write the
 * same one. A replica that pushes what it has pulled keeps the pointer that it accepted, with its signature.
 *
 * Invariant: a pointer in a store is never replaced by one with a lower sequence.
 */
import { randomInt } from 'node:crypto';
import path from 'node:path';
import {
  encodePointer,
  LARGEST_POINTER,
  type Pointer,
  parsePointer,
  signedText,
} from '../../format/pointer.ts';
import { POINTER } from '../../format/remote-layout.ts';
import { replaceFile } from '../../generations/files/replace-file.ts';
import type { ErrorWithExitCode } from '../../program/failure.ts';
import { readBoundedFileSync } from '../../program/files/bounded-file.ts';
import { readUpTo } from '../remote/content.ts';
import type { RemoteStore } from '../remote/remote.ts';
import { signPointer } from '../signatures/check-pointer.ts';
import type { SigningKey, VerifyingKey } from '../signatures/keys.ts';

/** The store has something that this push must not replace. */
export class PushRefusedError extends Error implements ErrorWithExitCode {
  override readonly name = 'PushRefusedError';
  readonly exitCode = 3;
}

export interface PointerOptions {
  readonly snapshotsDir: string;
  readonly signingKeys: readonly SigningKey[];
  /** Further keys whose pointers in a store are trusted. */
  readonly publicKeys: readonly VerifyingKey[];
  /** Whether to replace a pointer that is newer, or that is signed by an unsigned one. */
  readonly isForced: boolean;
}

/** The current generation of the snapshots folder. */
export interface CurrentGeneration {
  readonly id: string;
  readonly manifest_sha256: string;
}

/**
 * The pointer to the current generation. A new one is saved in the snapshots folder before it is returned.
 * @param stored the pointer in the store, if it has one
 * @throws PushRefusedError if the pointer in the store must stay
 */
export function choosePointer(
  current: CurrentGeneration,
  stored: Pointer | undefined,
  options: PointerOptions,
): Pointer {
  const { snapshotsDir, signingKeys, isForced } = options;
  const kept = readKeptPointer(snapshotsDir);
  const trusted = stored && isTrusted(stored, options) ? stored : undefined;
  if (kept !== undefined && isSame(kept, current) && isSignedWithAll(kept, signingKeys)) {
    if (trusted === undefined || trusted.sequence < kept.sequence) return kept;
    if (trusted.sequence === kept.sequence && isSame(trusted, kept)) return kept;
    if (trusted.sequence > kept.sequence && isSame(trusted, kept)) return trusted;
    if (trusted.sequence > kept.sequence && !isForced) throw newerError(trusted, current);
    // Otherwise two pushers have made different pointers with the same sequence. A new one settles it.
  }
  refuseUnsigned(current, [kept, stored], options);
  const pointer = makePointer(current, [kept, trusted], signingKeys);
  replaceFile(path.join(snapshotsDir, POINTER), encodePointer(pointer));
  return pointer;
}

/** The error of a push that would replace a newer pointer. */
export function newerError(stored: Pointer, { id }: Pick<Pointer, 'id'>): PushRefusedError {
  return new PushRefusedError(
    `The store has a newer pointer, to ${stored.id}, which somebody else has pushed since ${id} became current here. The pointer stays. To make ${id} current in the store, push with --force.`,
  );
}

/** The last pointer that was made or accepted in a snapshots folder; undefined if there is none. */
export function readKeptPointer(snapshotsDir: string): Pointer | undefined {
  try {
    const bytes = readBoundedFileSync(path.join(snapshotsDir, POINTER), LARGEST_POINTER);
    return parsePointer(bytes.toString('utf8'));
  } catch {
    // Missing or damaged: a new pointer is made, whose sequence is the time.
    return undefined;
  }
}

/** The pointer of a store; undefined if it has none, or a damaged one, which may be replaced. */
export async function readStoredPointer(remote: RemoteStore): Promise<Pointer | undefined> {
  const reply = await remote.get(POINTER);
  if (reply.status !== 'found') return undefined;
  const bytes = await readUpTo(reply.bytes, LARGEST_POINTER);
  try {
    return parsePointer(bytes?.toString('utf8') ?? '');
  } catch {
    return undefined;
  }
}

export function isSame(
  a: Pick<Pointer, 'id' | 'manifest_sha256'>,
  b: Pick<Pointer, 'id' | 'manifest_sha256'>,
): boolean {
  return a.id === b.id && a.manifest_sha256 === b.manifest_sha256;
}

/** Somebody who can write to the store, but not sign, must not affect the sequence. */
export function isTrusted(pointer: Pointer, { signingKeys, publicKeys }: PointerOptions): boolean {
  const keys = [...signingKeys.map(({ verifyingKey }) => verifyingKey), ...publicKeys];
  return keys.length === 0 || keys.some((key) => isSignedBy(pointer, key));
}

function isSignedWithAll(pointer: Pointer, keys: readonly SigningKey[]): boolean {
  return keys.every(({ verifyingKey }) => isSignedBy(pointer, verifyingKey));
}

function isSignedBy({ signatures, ...signed }: Pointer, key: VerifyingKey): boolean {
  const own = signatures.find((entry) => entry.key === key.id);
  return own !== undefined && key.verifies(signedText(signed), own.signature);
}

function refuseUnsigned(
  { id }: CurrentGeneration,
  known: readonly (Pointer | undefined)[],
  { signingKeys, isForced }: PointerOptions,
): void {
  const signed = known.find((pointer) => (pointer?.signatures.length ?? 0) > 0);
  if (signingKeys.length > 0 || signed === undefined || isForced) return;
  throw new PushRefusedError(
    `The pointer to ${signed.id} was signed, and ${id} cannot be signed, because SNAPSHOT_SIGNING_KEY is not set. Nothing is pushed. Set the key, or push without a signature with --force.`,
  );
}

function makePointer(
  { id, manifest_sha256 }: CurrentGeneration,
  known: readonly (Pointer | undefined)[],
  keys: readonly SigningKey[],
): Pointer {
  const now = new Date();
  // The time, so that a store that was emptied, or a new snapshots folder, does not begin at 1 again:
  // replicas would refuse that. Random digits, because two machines may push in one millisecond.
  const time = now.getTime() * 1000 + randomInt(1000);
  const sequence = Math.max(time, ...known.map((pointer) => (pointer?.sequence ?? 0) + 1));
  if (!Number.isSafeInteger(sequence)) {
    throw new PushRefusedError(
      `The pointer in the store has the highest sequence there is, which no push makes. Remove ${POINTER} from the store; replicas need a new --to folder.`,
    );
  }
  const published_at = now.toISOString();
  return signPointer({ format_version: 1, sequence, id, manifest_sha256, published_at }, keys);
}
