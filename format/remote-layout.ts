/**
 * The paths of the objects in a remote store, and the list of the objects of a generation. All objects but
 * the pointer are named by their content, written once and never changed, so that no cache can mix
 * generations. This module performs no input or output.
 */
import { isObject, isSha256 } from './json/values.ts';
import { isGenerationId, MANIFEST } from './layout.ts';

/**
 * The pointer (`pointer.ts`): the only object that is replaced, and the last one written by a push. A
 * snapshots folder has a file of the same name: the last pointer that was made or accepted there.
 */
export const POINTER = 'current.json';

const FILES = 'files/';
const DELTAS = 'differences/';
const REMOTE_GENERATIONS = 'generations/';

/** What the names of all objects of a kind begin with, for listing them. */
export const PREFIXES = { generations: REMOTE_GENERATIONS, files: FILES, deltas: DELTAS };

/** The manifest of a generation, byte by byte as in its folder. */
export function remoteManifest(id: string): string {
  return `${REMOTE_GENERATIONS}${id}/${MANIFEST}`;
}

/** The id in a name that {@link remoteManifest} has made; undefined for any other name. */
export function idOfRemoteManifest(name: string): string | undefined {
  const id = name.slice(REMOTE_GENERATIONS.length, -MANIFEST.length - 1);
  return isGenerationId(id) && name === remoteManifest(id) ? id : undefined;
}

/** The list of objects of a generation: {@link parseObjectList}. */
export function objectList(id: string): string {
  return `${REMOTE_GENERATIONS}${id}/objects.json`;
}

/**
 * A file of a generation, compressed with zstd. Compressing it again with another version of zstd may
 * give other bytes, so only the decompressed content can be checked.
 * @param sha256 of the decompressed content, in hex
 */
export function remoteFile(sha256: string): string {
  return `${FILES}${sha256}.zst`;
}

/**
 * A delta of a file (`delta.ts`), for readers that have an earlier version of it.
 * @param from the SHA-256 of the earlier version, in hex
 * @param to the SHA-256 of the file, in hex
 */
export function remoteDelta(from: string, to: string): string {
  return `${DELTAS}${from}-${to}.zst`;
}

/** As a power of two: the largest window that a reader must support. */
export const LARGEST_WINDOW_LOG = 27;

/** What a store has for a generation. Nothing in it is needed to check content, so it is not signed. */
export interface ObjectList {
  readonly format_version: 1;
  /** The files of the generation, each content once. */
  readonly files: readonly StoredObject[];
  /** Deltas for readers that have the generation that was in the store before. */
  readonly differences: readonly StoredDelta[];
}

export interface StoredObject {
  /** Of the content, in hex. */
  readonly sha256: string;
  /** The size of the object in the store, in bytes. */
  readonly stored_size: number;
}

export interface StoredDelta {
  readonly from: string;
  readonly to: string;
  readonly stored_size: number;
}

/** In bytes. */
export const LARGEST_OBJECT_LIST = 64 * 1024 * 1024;

export function encodeObjectList(list: ObjectList): string {
  return `${JSON.stringify(list)}\n`;
}

/** @throws Error that says what is wrong */
export function parseObjectList(text: string): ObjectList {
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch (cause) {
    throw new Error('The list of objects is damaged: it is not JSON.', { cause });
  }
  if (!isObject(found) || found.format_version !== 1) {
    throw new Error('The list of objects is damaged, or of another version.');
  }
  const { files, differences } = found;
  if (!isListOf(files, isStoredObject) || !isListOf(differences, isStoredDelta)) {
    throw new Error('The list of objects is damaged.');
  }
  return { format_version: 1, files, differences };
}

function isListOf<T>(value: unknown, isItem: (item: unknown) => item is T): value is T[] {
  return Array.isArray(value) && value.every(isItem);
}

function isStoredObject(value: unknown): value is StoredObject {
  return isObject(value) && isSha256(value.sha256) && isSize(value.stored_size);
}

function isStoredDelta(value: unknown): value is StoredDelta {
  return isObject(value) && isSha256(value.from) && isSha256(value.to) && isSize(value.stored_size);
}

function isSize(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
