/**
 * The pointer of a remote store: which generation is current, the hash of its manifest, and signatures. The
 * manifest contains the hash of every file, so a signature of the pointer covers all bytes.
 *
 * The sequence of a pointer is not that of its generation: it grows with every pointer, even if the origin
 * makes an older generation current. A reader refuses lower sequences, so nobody can make it accept an old
 * pointer again. This module performs no input or output.
 */
import { isObject, isSequence, isSha256 } from './json/values.ts';
import { isGenerationId } from './layout.ts';

export interface Pointer {
  readonly format_version: 1;
  /** Grows with every pointer. Usually the time at which it was made, in microseconds since 1970. */
  readonly sequence: number;
  /** The id of the current generation. */
  readonly id: string;
  /** The SHA-256 of the bytes of its manifest, in hex. */
  readonly manifest_sha256: string;
  /** When the pointer was made: RFC 3339 UTC with milliseconds, such as 2026-03-01T12:00:00.000Z. */
  readonly published_at: string;
  /** Empty if it is not signed. While keys are rotated, one for each key. */
  readonly signatures: readonly PointerSignature[];
}

export interface PointerSignature {
  /** The id of the key: the first 16 hex digits of the SHA-256 of the raw public key. */
  readonly key: string;
  /** The Ed25519 signature of {@link signedText}, in base64. */
  readonly signature: string;
}

/** In bytes. */
export const LARGEST_POINTER = 16 * 1024;
const MOST_SIGNATURES = 16;

/** The signed text: everything but the signatures, after a first line that no other signed text has. */
export function signedText(pointer: Omit<Pointer, 'signatures'>): string {
  const { format_version, sequence, id, manifest_sha256, published_at } = pointer;
  return `cover-catalogue pointer ${format_version}\n${sequence}\n${id}\n${manifest_sha256}\n${published_at}\n`;
}

/** The bytes of `current.json`. */
export function encodePointer(pointer: Pointer): string {
  const { format_version, sequence, id, manifest_sha256, published_at, signatures } = pointer;
  const members = { format_version, sequence, id, manifest_sha256, published_at, signatures };
  return `${JSON.stringify(members, null, 1)}\n`;
}

/**
 * Parses a pointer and checks its form, not its signatures.
 * @throws Error that says what is wrong
 */
export function parsePointer(text: string): Pointer {
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch (cause) {
    throw new Error('The pointer is damaged: it is not JSON.', { cause });
  }
  if (!isObject(found)) throw new Error('The pointer is damaged: it is not an object.');
  const { format_version, sequence, id, manifest_sha256, published_at, signatures } = found;
  if (format_version !== 1) {
    throw new Error(
      `The pointer has format version ${JSON.stringify(format_version)}; this program reads version 1. Upgrade this program.`,
    );
  }
  const fault = (name: string) => new Error(`The pointer is damaged: "${name}" is wrong.`);
  if (!isSequence(sequence)) throw fault('sequence');
  if (typeof id !== 'string' || !isGenerationId(id)) throw fault('id');
  if (!isSha256(manifest_sha256)) throw fault('manifest_sha256');
  if (typeof published_at !== 'string' || !isTime(published_at)) throw fault('published_at');
  if (!Array.isArray(signatures) || signatures.length > MOST_SIGNATURES) throw fault('signatures');
  if (!signatures.every(isSignature)) throw fault('signatures');
  return { format_version, sequence, id, manifest_sha256, published_at, signatures };
}

/** Whether a text is a time as in `published_at`. */
export function isTime(text: string): boolean {
  const time = Date.parse(text);
  return !Number.isNaN(time) && new Date(time).toISOString() === text;
}

/** Whether a value has the form of a signature. */
export function isSignature(value: unknown): value is PointerSignature {
  return (
    isObject(value) &&
    typeof value.key === 'string' &&
    /^[0-9a-f]{16}$/.test(value.key) &&
    typeof value.signature === 'string' &&
    /^[A-Za-z0-9+/]{86}==$/.test(value.signature)
  );
}
