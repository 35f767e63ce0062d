/** Reads remote stores as a replica would, and checks that what their pointer names is complete. */
import { hash } from 'node:crypto';
import { constants as zlib, zstdDecompressSync } from 'node:zlib';
import { expect } from 'vitest';
import { readUpTo } from '../../depot/remote/content.ts';
import type { RemoteStore } from '../../depot/remote/remote.ts';
import { tryAgain } from '../../depot/transfer/try-again.ts';
import { type Manifest, parseManifest } from '../../format/manifest.ts';
import { type Pointer, parsePointer } from '../../format/pointer.ts';
import {
  LARGEST_WINDOW_LOG,
  type ObjectList,
  objectList,
  POINTER,
  parseObjectList,
  remoteDelta,
  remoteFile,
  remoteManifest,
} from '../../format/remote-layout.ts';

const LARGEST = 1e9;

/** @returns the bytes of an object; undefined if there is none */
export async function readObject(remote: RemoteStore, name: string): Promise<Buffer | undefined> {
  return tryAgain(`read ${name}`, async () => {
    const reply = await remote.get(name);
    return reply.status === 'found' ? readUpTo(reply.bytes, LARGEST) : undefined;
  });
}

async function need(remote: RemoteStore, name: string): Promise<Buffer> {
  const bytes = await readObject(remote, name);
  if (bytes === undefined) throw new Error(`${remote.name} has no ${name}.`);
  return bytes;
}

export async function readPointer(remote: RemoteStore): Promise<Pointer | undefined> {
  const bytes = await readObject(remote, POINTER);
  return bytes && parsePointer(bytes.toString('utf8'));
}

export interface ReadGeneration {
  readonly pointer: Pointer;
  readonly manifest: Manifest;
  readonly list: ObjectList;
  /** The content of each file, by path. */
  readonly files: ReadonlyMap<string, Buffer>;
}

/** Reads the generation that the pointer names. Fails unless every file is there and right. */
export async function readGeneration(remote: RemoteStore): Promise<ReadGeneration> {
  const pointer = await readPointer(remote);
  if (pointer === undefined) throw new Error(`${remote.name} has no pointer.`);
  const encoded = await need(remote, remoteManifest(pointer.id));
  expect(hash('sha256', encoded)).toBe(pointer.manifest_sha256);
  const manifest = parseManifest(encoded.toString('utf8'));
  const list = parseObjectList((await need(remote, objectList(pointer.id))).toString('utf8'));
  const files = new Map<string, Buffer>();
  for (const { path, sha256 } of manifest.files) {
    const stored = await need(remote, remoteFile(sha256));
    const content = zstdDecompressSync(stored);
    expect([path, hash('sha256', content)]).toEqual([path, sha256]);
    expect(list.files).toContainEqual({ sha256, stored_size: stored.length });
    files.set(path, content);
  }
  return { pointer, manifest, list, files };
}

/** Makes a file from an earlier version of it and the delta in the store. */
export async function applyDelta(
  remote: RemoteStore,
  earlier: Buffer,
  to: string,
): Promise<Buffer> {
  const from = hash('sha256', earlier);
  const bytes = await need(remote, remoteDelta(from, to));
  const content = zstdDecompressSync(bytes, {
    dictionary: earlier,
    params: { [zlib.ZSTD_d_windowLogMax]: LARGEST_WINDOW_LOG },
  });
  expect(hash('sha256', content)).toBe(to);
  return content;
}
