/**
 * The generations that a store lists, and the objects that each of them needs. What the store says is
 * trusted here: it only decides which objects are kept and which deltas are listed again.
 */
import { LARGEST_MANIFEST, parseManifest } from '../../format/manifest.ts';
import {
  idOfRemoteManifest,
  LARGEST_OBJECT_LIST,
  type ObjectList,
  objectList,
  PREFIXES,
  parseObjectList,
  remoteDelta,
  remoteFile,
  remoteManifest,
} from '../../format/remote-layout.ts';
import { generationDir, readManifestBytes } from '../../generations/generations.ts';
import { readUpTo } from '../remote/content.ts';
import type { RemoteStore } from '../remote/remote.ts';
import { tryAgain } from '../transfer/try-again.ts';

export interface StoredGeneration {
  readonly id: string;
  /** When its manifest was last written, by the clock of the store. */
  readonly writtenAt: Date;
}

/** The generations whose manifests a store has, in the order in which these were written. */
export async function listStored(remote: RemoteStore): Promise<StoredGeneration[]> {
  const objects = await tryAgain('list generations', () => remote.list(PREFIXES.generations));
  return objects
    .flatMap(({ path: name, modifiedAt }) => {
      const id = idOfRemoteManifest(name);
      return id === undefined ? [] : [{ id, writtenAt: modifiedAt }];
    })
    .sort((a, b) => a.writtenAt.getTime() - b.writtenAt.getTime() || (a.id < b.id ? -1 : 1));
}

/** @returns undefined if the store has none, or a damaged one, which the next push replaces */
export async function readObjectList(
  remote: RemoteStore,
  id: string,
): Promise<ObjectList | undefined> {
  const bytes = await readSmall(remote, objectList(id), LARGEST_OBJECT_LIST);
  try {
    return bytes && parseObjectList(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}

/**
 * The paths of all objects that a listed generation needs.
 * @throws Error if its manifest cannot be read, so that nothing is removed that it may need
 */
export async function objectsOf(
  remote: RemoteStore,
  id: string,
  snapshotsDir: string,
): Promise<string[]> {
  const encoded =
    readLocalManifest(snapshotsDir, id) ??
    (await readSmall(remote, remoteManifest(id), LARGEST_MANIFEST));
  if (encoded === undefined) throw new Error(`${remoteManifest(id)} has just been removed.`);
  const { files } = parseManifest(encoded.toString('utf8'));
  const list = await readObjectList(remote, id);
  return [
    remoteManifest(id),
    objectList(id),
    ...files.map(({ sha256 }) => remoteFile(sha256)),
    ...(list?.differences ?? []).map(({ from, to }) => remoteDelta(from, to)),
  ];
}

/** A manifest that is also on disk need not be transferred: a generation with the same id is the same. */
function readLocalManifest(snapshotsDir: string, id: string): Buffer | undefined {
  try {
    return readManifestBytes(generationDir(snapshotsDir, id));
  } catch {
    return undefined;
  }
}

/** Reads an object. @returns undefined if there is none; throws if it is larger than `most` bytes */
export async function readSmall(
  remote: RemoteStore,
  name: string,
  most: number,
): Promise<Buffer | undefined> {
  return tryAgain(`read ${name}`, async () => {
    const reply = await remote.get(name);
    if (reply.status !== 'found') return undefined;
    const bytes = await readUpTo(reply.bytes, most);
    if (bytes === undefined) throw new Error(`${name} is larger than ${most} bytes.`);
    return bytes;
  });
}
