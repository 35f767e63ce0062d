/**
 * Ed25519 keys in PEM, as `openssl genpkey -algorithm ed25519` and `openssl pkey -pubout` write them, and
 * signatures of releases. No error quotes a key: the messages continue a sentence that begins with the name
 * of a variable.
 */
import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { type Release, signedText } from '../format/release.ts';
import type { Checks } from '../program/environment/environment.ts';
import { readBoundedFileSync } from '../program/files/bounded-file.ts';
import { checkWritableFolder } from '../program/folders.ts';

/** The variables of a push besides those of S3. Programs that push later check them when they start. */
export const PUSH_VARIABLES = ['SNAPSHOTS_DIR', 'SNAPSHOT_PUSH', 'SNAPSHOT_SIGNING_KEY'] as const;

export const PUSH_CHECKS: Checks<(typeof PUSH_VARIABLES)[number]> = {
  SNAPSHOTS_DIR: checkWritableFolder,
  SNAPSHOT_SIGNING_KEY: readSigningKey,
};

/** In bytes. */
const LARGEST_KEY_FILE = 16 * 1024;
const PEM = /-----BEGIN ([A-Z ]+)-----[A-Za-z0-9+/=\s]+-----END \1-----/g;

/**
 * @param text of SNAPSHOT_SIGNING_KEY: a file, or its content
 * @returns undefined if the text is empty
 * @throws Error that says what is wrong
 */
export function readSigningKey(text: string): KeyObject | undefined {
  if (text === '') return undefined;
  const [key, ...more] = keysIn(text).map((pem) => parse(createPrivateKey, pem));
  if (key !== undefined && more.length === 0) return key;
  throw new Error(
    'must name a file with one private key. Make it with "openssl genpkey -algorithm ed25519 -out FILE".',
  );
}

/**
 * @param text of SNAPSHOT_PUBLIC_KEYS: files separated by commas, or their content
 * @throws Error that says what is wrong
 */
export function readPublicKeys(text: string): KeyObject[] {
  return text
    .split(',')
    .filter((entry) => entry.trim() !== '')
    .flatMap((entry) => {
      const keys = keysIn(entry.trim());
      if (keys.some((pem) => pem.includes('PRIVATE'))) {
        throw new Error(
          'holds a private key, which must stay on the machine that signs. Set the public key, and make a new pair if others have seen this one.',
        );
      }
      if (keys.length > 0) return keys.map((pem) => parse(createPublicKey, pem));
      throw new Error(
        'must name files with public keys. Write one with "openssl pkey -in PRIVATE_KEY -pubout -out FILE".',
      );
    });
}

export function publicKeyOf(key: KeyObject): KeyObject {
  return createPublicKey(key);
}

export function signRelease(release: Release, key: KeyObject): Release {
  const signature = sign(null, Buffer.from(signedText(release)), key).toString('base64');
  return { ...release, signature };
}

export function isSignedBy(release: Release, keys: readonly KeyObject[]): boolean {
  const { signature } = release;
  if (signature === null) return false;
  const text = Buffer.from(signedText(release));
  return keys.some((key) => verify(null, text, key, Buffer.from(signature, 'base64')));
}

function keysIn(entry: string): string[] {
  return (entry.startsWith('-----BEGIN') ? entry : readKeyFile(entry)).match(PEM) ?? [];
}

function readKeyFile(file: string): string {
  try {
    return readBoundedFileSync(file, LARGEST_KEY_FILE).toString('utf8');
  } catch (cause) {
    // The entry may be a damaged private key, which no message may quote.
    const { code = 'it is not a regular, small file' } = cause as NodeJS.ErrnoException;
    throw new Error(`must name a file in PEM, and it cannot be read (${code}).`, { cause });
  }
}

function parse(create: (pem: string) => KeyObject, pem: string): KeyObject {
  let key: KeyObject | undefined;
  try {
    key = create(pem);
  } catch {
    // Damaged, or a key of the other kind.
  }
  if (key?.asymmetricKeyType === 'ed25519') return key;
  throw new Error('holds something else than an Ed25519 key in PEM.');
}
