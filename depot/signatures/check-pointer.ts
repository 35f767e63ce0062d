/**
 * Signs pointers, and decides whether a pointer may be accepted. The decision needs what was accepted
 * before, which the caller keeps on disk: without it, an old pointer could be offered again.
 */
import { hash } from 'node:crypto';
import { sequenceOf } from '../../format/layout.ts';
import { type Pointer, type PointerSignature, signedText } from '../../format/pointer.ts';
import type { SigningKey, VerifyingKey } from './keys.ts';

/** Why a pointer or its manifest is refused. */
export type RefusalKind =
  /** Keys are configured, and the pointer has no signature. */
  | 'unsigned'
  /** None of the signatures is by a configured key. */
  | 'wrong-key'
  /** A signature names a configured key, and does not fit the pointer. */
  | 'wrong-signature'
  /** An older pointer is offered, with an older generation than the accepted one. */
  | 'downgrade'
  /** An older pointer is offered, with a generation that is not older. */
  | 'replay'
  /** Two different pointers have the same sequence. */
  | 'conflict'
  /** The manifest is not the one that the pointer names. */
  | 'other-manifest';

export interface Refusal {
  readonly kind: RefusalKind;
  /** One sentence for operators, and what to do. */
  readonly message: string;
}

/** The members of the last pointer that was accepted. */
export type AcceptedPointer = Pick<Pointer, 'sequence' | 'id' | 'manifest_sha256'>;

/** A pointer with a signature by each key. */
export function signPointer(
  unsigned: Omit<Pointer, 'signatures'>,
  keys: readonly SigningKey[],
): Pointer {
  const text = signedText(unsigned);
  const signatures = keys.map((key) => ({ key: key.verifyingKey.id, signature: key.sign(text) }));
  return { ...unsigned, signatures };
}

/**
 * Whether a pointer may be accepted. The pointer that was accepted last is accepted again.
 * @param keys the keys of which one must have signed it; if there are none, signatures are not checked
 * @param last undefined if none was accepted before
 * @returns why it is refused; undefined if it may be accepted
 */
export function checkPointer(
  pointer: Pointer,
  keys: readonly VerifyingKey[],
  last: AcceptedPointer | undefined,
): Refusal | undefined {
  return (
    (keys.length > 0
      ? checkSignatures(
          `The pointer to ${pointer.id}`,
          signedText(pointer),
          pointer.signatures,
          keys,
        )
      : undefined) ?? checkOrder(pointer, last)
  );
}

/** Whether the bytes of a manifest are those that a pointer names. */
export function checkManifestBytes(pointer: Pointer, manifest: Buffer): Refusal | undefined {
  const found = hash('sha256', manifest);
  if (found === pointer.manifest_sha256) return undefined;
  return {
    kind: 'other-manifest',
    message: `The manifest of ${pointer.id} has the SHA-256 ${found}, and the pointer names ${pointer.manifest_sha256}: somebody has changed a file in the store, or a cache mixes versions. Push again.`,
  };
}

/**
 * Whether a text is signed by one of the keys.
 * @param what what the text is, for messages, such as "The pointer to 000041-8b1a9953c461"
 */
export function checkSignatures(
  what: string,
  text: string,
  signatures: readonly PointerSignature[],
  keys: readonly VerifyingKey[],
): Refusal | undefined {
  if (signatures.length === 0) {
    return {
      kind: 'unsigned',
      message: `${what} is not signed, and SNAPSHOT_PUBLIC_KEYS asks for a signature. Set SNAPSHOT_SIGNING_KEY where it is written.`,
    };
  }
  const keyOf = ({ key }: PointerSignature) => keys.find(({ id }) => id === key);
  if (signatures.some((entry) => keyOf(entry)?.verifies(text, entry.signature))) return undefined;
  const names = signatures.map(({ key }) => key).join(', ');
  return signatures.some((entry) => keyOf(entry) !== undefined)
    ? {
        kind: 'wrong-signature',
        message: `${what} has a wrong signature by the key ${names}: somebody has changed it.`,
      }
    : {
        kind: 'wrong-key',
        message: `${what} is signed with the key ${names}, which SNAPSHOT_PUBLIC_KEYS does not list (${keys.map(({ id }) => id).join(', ')}). Add that public key if it is yours.`,
      };
}

function checkOrder(pointer: Pointer, last: AcceptedPointer | undefined): Refusal | undefined {
  if (last === undefined || pointer.sequence > last.sequence) return undefined;
  if (pointer.sequence === last.sequence) {
    if (pointer.id === last.id && pointer.manifest_sha256 === last.manifest_sha256)
      return undefined;
    return {
      kind: 'conflict',
      message: `The pointer to ${pointer.id} has the sequence ${pointer.sequence}, as the accepted one to ${last.id} has: two programs have pushed at the same time. The next push settles it.`,
    };
  }
  const what = `The pointer to ${pointer.id} has the sequence ${pointer.sequence}, and ${last.sequence} (${last.id}) was accepted before`;
  return sequenceOf(pointer.id) < sequenceOf(last.id)
    ? {
        kind: 'downgrade',
        message: `${what}: an older generation is offered again. To go back on purpose, roll back at the origin, which pushes a new pointer.`,
      }
    : { kind: 'replay', message: `${what}: an older pointer is offered again.` };
}
