/**
 * A release, and the names of the objects in a depot. A release names the content that is current: a
 * generation, by the hash of its manifest, which contains the hash of every file; or the keys file. So its
 * signature covers all bytes. It is the only object that is ever replaced, and the last one that is
 * written. All others are named by their content, so no cache can mix generations. This module performs no
 * input or output.
 */
import { parseObject, readMembers, shown } from './json/parse-file.ts';
import {
  isSequence,
  isSha256,
  isString,
  isTime,
  type Members,
  matching,
  oneOf,
  orNull,
} from './json/values.ts';
import { GENERATIONS, isGenerationId } from './layout.ts';

/** What is released: a generation, or the API keys of replicas. */
export type ReleaseKind = 'snapshot' | 'keys';

const FORMAT_VERSION = 1;
const SHAPE = {
  format_version: oneOf(FORMAT_VERSION),
  /** The id of the generation; "keys" for the keys file. */
  id: isString,
  /** Never falls: that of the generation. For keys, milliseconds since 1970. */
  sequence: isSequence,
  /** The SHA-256 of the manifest, or of the keys file, in hex. */
  sha256: isSha256,
  /**
   * RFC 3339 UTC with milliseconds: when the generation was first pushed, or when the keys last agreed with
   * the database. Null if it is not known.
   */
  released_at: orNull(
    (value): value is string => isTime(value) && new Date(value).toISOString() === value,
  ),
  /** The Ed25519 signature of {@link signedText} in base64; null if the release is not signed. */
  signature: orNull(matching(/^[A-Za-z0-9+/]{86}==$/)),
};
export type Release = Members<typeof SHAPE>;

/** In bytes. */
export const LARGEST_RELEASE = 4096;
const KEYS_ID = 'keys';

/** The object with the release of each kind. */
export const RELEASES: Readonly<Record<ReleaseKind, string>> = {
  snapshot: 'release.json',
  keys: 'keys/release.json',
};

/** A release without a signature. */
export function makeRelease(
  kind: ReleaseKind,
  content: Pick<Release, 'sequence' | 'sha256' | 'released_at'> & { readonly id?: string },
): Release {
  const { sequence, sha256, released_at } = content;
  const id = kind === 'keys' ? KEYS_ID : (content.id ?? '');
  return { format_version: FORMAT_VERSION, id, sequence, sha256, released_at, signature: null };
}

/** The signed text: everything but the signature. Its id tells a snapshot from keys. */
export function signedText({ id, sequence, sha256, released_at }: Release): string {
  return `cover-catalogue release ${FORMAT_VERSION}\n${id}\n${sequence}\n${sha256}\n${released_at}\n`;
}

/** The bytes of the object. */
export function encodeRelease(release: Release): string {
  return `${JSON.stringify(release, null, 1)}\n`;
}

/**
 * Parses a release and checks its form, not its signature.
 * @throws Error that says what is wrong
 */
export function parseRelease(bytes: Buffer | string, kind: ReleaseKind): Release {
  const name = RELEASES[kind];
  const found = parseObject(bytes, name);
  if (found.format_version !== FORMAT_VERSION) {
    throw new Error(
      `${name} has format version ${shown(found.format_version)}; this program reads version ${FORMAT_VERSION}. Upgrade this program.`,
    );
  }
  const id = kind === 'keys' ? oneOf(KEYS_ID) : isGenerationId;
  return readMembers(found, name, { ...SHAPE, id });
}

const FILES = 'files/';
/** What a killed writer leaves in a folder. */
export const UNFINISHED = 'unfinished/';
const GENERATION_OBJECT =
  /^(generations\/\d{6,15}-[0-9a-f]{12}\.json|files\/[0-9a-f]{64}\.zst|unfinished\/[0-9a-f]{16})$/;
/** Whether an object belongs to generations. A depot may be the folder of a web server, with other files. */
export const isGenerationObject = (name: string): boolean => GENERATION_OBJECT.test(name);
/** What the names of these objects begin with. */
export const GENERATION_PREFIXES: readonly string[] = [`${GENERATIONS}/`, FILES, UNFINISHED];
export const MANIFESTS = `${GENERATIONS}/`;
export const KEYS_PREFIX = 'keys/';

/** The manifest of a generation, byte by byte as in its folder. */
export function storedManifest(id: string): string {
  return `${MANIFESTS}${id}.json`;
}

/**
 * A file of a generation, compressed with zstd.
 * @param sha256 of the decompressed content, in hex
 */
export function storedFile(sha256: string): string {
  return `${FILES}${sha256}.zst`;
}

/** The object with the content of `keys.json`. */
export function storedKeys(sha256: string): string {
  return `${KEYS_PREFIX}${sha256}.json`;
}
