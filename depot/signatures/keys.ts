/**
 * Ed25519 keys: making, reading and writing them as one line of text, and signing with them.
 *
 *     cover-catalogue-private-key:BASE64    the seed, 32 bytes
 *     cover-catalogue-public-key:BASE64     the raw public key, 32 bytes
 *
 * The prefixes differ, so a private key cannot be configured where a public one belongs. No error quotes
 * a private key.
 */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hash,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto';

const PRIVATE = 'cover-catalogue-private-key:';
const PUBLIC = 'cover-catalogue-public-key:';
/** The DER of an Ed25519 key up to its 32 bytes (RFC 8410). */
const PRIVATE_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex');
const PUBLIC_HEAD = Buffer.from('302a300506032b6570032100', 'hex');
const KEY_BYTES = 32;

export interface VerifyingKey {
  /** The first 16 hex digits of the SHA-256 of the raw public key. */
  readonly id: string;
  /** As one line, for `SNAPSHOT_PUBLIC_KEYS`. */
  readonly text: string;
  verifies(signed: string, signature: string): boolean;
}

export interface SigningKey {
  readonly verifyingKey: VerifyingKey;
  /** @returns the signature in base64 */
  sign(text: string): string;
}

/** Whether a text looks like a key, private or public, and not like the name of a file. */
export function isKeyText(text: string): boolean {
  return text.startsWith(PRIVATE) || text.startsWith(PUBLIC);
}

/** Makes a new key. @returns both as text */
export function makeKeyPair(): { privateKey: string; publicKey: string; id: string } {
  const { privateKey } = generateKeyPairSync('ed25519');
  const seed = privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(PRIVATE_HEAD.length);
  const text = PRIVATE + seed.toString('base64');
  const { verifyingKey } = readSigningKey(text);
  return { privateKey: text, publicKey: verifyingKey.text, id: verifyingKey.id };
}

/** @throws Error without the key, if the text is not a private key */
export function readSigningKey(text: string): SigningKey {
  const seed = bytesBehind(PRIVATE, text.trim());
  if (seed === undefined) {
    throw new Error(
      'does not hold a private key: one line that begins with "cover-catalogue-private-key:". Make one with "cover-catalogue snapshot keygen".',
    );
  }
  const key = createPrivateKey({
    key: Buffer.concat([PRIVATE_HEAD, seed]),
    format: 'der',
    type: 'pkcs8',
  });
  return {
    verifyingKey: verifyingKeyOf(createPublicKey(key)),
    sign: (content) => sign(null, Buffer.from(content), key).toString('base64'),
  };
}

/** @throws Error if the text is not a public key */
export function readVerifyingKey(text: string): VerifyingKey {
  const raw = bytesBehind(PUBLIC, text.trim());
  if (raw !== undefined) {
    const der = Buffer.concat([PUBLIC_HEAD, raw]);
    return verifyingKeyOf(createPublicKey({ key: der, format: 'der', type: 'spki' }));
  }
  const isPrivate = text.includes(PRIVATE);
  throw new Error(
    isPrivate
      ? 'holds a private key, which must stay on the machine that signs. Set the public key that "cover-catalogue snapshot keygen" printed, and make a new pair if others have seen this one.'
      : `must list public keys, each beginning with "${PUBLIC}", as "cover-catalogue snapshot keygen" prints them.`,
  );
}

function verifyingKeyOf(key: KeyObject): VerifyingKey {
  const raw = key.export({ format: 'der', type: 'spki' }).subarray(PUBLIC_HEAD.length);
  return {
    id: hash('sha256', raw).slice(0, 16),
    text: PUBLIC + raw.toString('base64'),
    verifies: (signed, signature) =>
      verify(null, Buffer.from(signed), key, Buffer.from(signature, 'base64')),
  };
}

function bytesBehind(prefix: string, text: string): Buffer | undefined {
  if (!text.startsWith(prefix)) return undefined;
  const encoded = text.slice(prefix.length);
  const bytes = Buffer.from(encoded, 'base64');
  return bytes.length === KEY_BYTES && bytes.toString('base64') === encoded ? bytes : undefined;
}
