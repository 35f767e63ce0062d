/**
 * Ed25519 keys in PEM, as `openssl genpkey -algorithm ed25519` and `openssl pkey -pubout` write them, and
 * signatures of releases. No error quotes a key: the messages continue a sentence that begins with the name
 * of a variable.
 */
import { createPrivateKey, createPublicKey, hash, type KeyObject, sign, verify } from 'node:crypto';
import { type Release, signedText } from '../lib/format/release.ts';
import type { Environment, ValueChecks } from '../lib/program/environment/environment.ts';
import { readBoundedFileSync } from '../lib/program/files/bounded-file.ts';
import { checkWritableFolder } from '../lib/program/folders.ts';

/** The variables of a push besides those of S3. Programs that push later check them when they start. */
export const PUSH_VARIABLES = ['SNAPSHOTS_DIR', 'SNAPSHOT_PUSH', 'SNAPSHOT_SIGNING_KEY'] as const;
export type PushSettings = Environment<(typeof PUSH_VARIABLES)[number]>;

export const PUSH_CHECKS: ValueChecks<keyof PushSettings> = {
  SNAPSHOTS_DIR: checkWritableFolder,
  SNAPSHOT_SIGNING_KEY: readSigningKey,
};

/** In bytes. */
const LARGEST_KEY_FILE = 16 * 1024;
const BEGIN = '-----BEGIN';
const ADVICE =
  'must name a file with one Ed25519 key in PEM. Make one with "openssl genpkey -algorithm ed25519", and its public key with "openssl pkey -pubout"';

/**
 * @param text of SNAPSHOT_SIGNING_KEY: a file, or its content
 * @returns undefined if the text is empty
 * @throws Error that says what is wrong
 */
export function readSigningKey(text: string): KeyObject | undefined {
  return text === '' ? undefined : readKey(text, createPrivateKey);
}

/**
 * @param text of SNAPSHOT_PUBLIC_KEYS: files with one key each, or their contents, separated by commas
 * @throws Error that says what is wrong
 */
export function readSignerKeys(text: string): KeyObject[] {
  const entries = text.split(',').map((entry) => entry.trim());
  return entries.flatMap((entry) => (entry === '' ? [] : readKey(entry, createPublicKey)));
}

function readKey(entry: string, create: (pem: string) => KeyObject): KeyObject {
  const pem = entry.startsWith(BEGIN) ? entry : readPem(entry);
  if (create === createPublicKey && pem.includes('PRIVATE')) {
    throw new Error(
      'holds a private key, which must stay where releases are signed. Name the public key.',
    );
  }
  try {
    const key = create(pem);
    // OpenSSL reads only the first of several keys.
    if (key.asymmetricKeyType === 'ed25519' && pem.split(BEGIN).length === 2) return key;
  } catch {
    // Damaged, or a key of the other kind.
  }
  throw new Error(`${ADVICE}.`);
}

function readPem(file: string): string {
  try {
    return readBoundedFileSync(file, LARGEST_KEY_FILE).toString('utf8');
  } catch (cause) {
    // The entry may be a damaged private key, which no message may quote.
    const { code = 'it is not a regular, small file' } = cause as NodeJS.ErrnoException;
    throw new Error(`${ADVICE}. It cannot be read: ${code}.`, { cause });
  }
}

export function signRelease(release: Release, key: KeyObject): Release {
  const signature = sign(null, Buffer.from(signedText(release)), key).toString('base64');
  return { ...release, signature };
}

/** Whether a release has a signature that a key confirms; a private key stands for its public one. */
export function isSignedBy(release: Release, key: KeyObject): boolean {
  const { signature } = release;
  if (signature === null) return false;
  return verify(null, Buffer.from(signedText(release)), key, Buffer.from(signature, 'base64'));
}

/** By which a replica remembers a public key. */
export function fingerprintOf(publicKey: KeyObject): string {
  return hash('sha256', publicKey.export({ type: 'spki', format: 'der' }));
}
