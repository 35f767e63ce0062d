/**
 * Pulls the generation that a pointer names from a remote store, or from the snapshots folder of another
 * installation that a web server serves. The caller has accepted the pointer.
 *
 * Both have manifests at the same path. A store has every file compressed, under the hash of its
 * content, and deltas for earlier versions; a snapshots folder has the files of a generation.
 */
import { GENERATIONS } from '../../format/layout.ts';
import { LARGEST_MANIFEST, type ManifestFile } from '../../format/manifest.ts';
import type { Pointer } from '../../format/pointer.ts';
import { remoteDelta, remoteFile, remoteManifest } from '../../format/remote-layout.ts';
import { readUpTo } from '../remote/content.ts';
import type { FoundObject, RemoteStore } from '../remote/remote.ts';
import { checkManifestBytes } from '../signatures/check-pointer.ts';
import type { Clock } from '../transfer/clock.ts';
import { applyDelta, decompress } from './decode.ts';
import type { RateLimit } from './rate-limit.ts';
import { readObject } from './read-object.ts';
import { type Delivery, GoneError, PullRefusedError, type Source, type Wanted } from './source.ts';

export interface StoreSourceOptions {
  readonly remote: RemoteStore;
  readonly pointer: Pointer;
  readonly limit: RateLimit;
  readonly clock: Clock;
}

/** Closing the source does not close the store. */
export function openStoreSource({ remote, pointer, limit, clock }: StoreSourceOptions): Source {
  const { id } = pointer;
  const ending = new AbortController();
  const { signal } = ending;
  const receivedBefore = remote.traffic().received;
  /** Whether this is a snapshots folder; undefined until a file was found. */
  let isFolder: boolean | undefined;

  async function find(path: string, offset = 0): Promise<FoundObject | undefined> {
    const reply = await remote.get(path, { offset, signal });
    return reply.status === 'found' ? reply : undefined;
  }

  const bytesOf = (path: string, found: FoundObject) =>
    limit(readObject(found, { remote, path, signal, clock }));

  async function readManifest(): Promise<Buffer> {
    const path = remoteManifest(id);
    const found = await find(path);
    if (found === undefined) throw gone(path);
    const bytes = await readUpTo(found.bytes, LARGEST_MANIFEST);
    if (bytes === undefined) {
      throw new PullRefusedError(
        `The manifest of ${id} at ${remote.name} is larger than ${LARGEST_MANIFEST} bytes.`,
      );
    }
    const refusal = checkManifestBytes(pointer, bytes);
    if (refusal !== undefined) throw new PullRefusedError(refusal.message);
    return bytes;
  }

  async function file(wanted: ManifestFile, { offset, similar }: Wanted): Promise<Delivery> {
    if (similar !== undefined && isFolder !== true) {
      const path = remoteDelta(similar.sha256, wanted.sha256);
      const found = await find(path);
      if (found !== undefined) {
        const bytes = applyDelta(bytesOf(path, found), similar);
        return { offset: 0, isDelta: true, bytes };
      }
    }
    return (isFolder === true ? undefined : await compressed(wanted)) ?? plain(wanted, offset);
  }

  async function compressed({ sha256 }: ManifestFile): Promise<Delivery | undefined> {
    const path = remoteFile(sha256);
    const found = await find(path);
    if (found === undefined) return undefined;
    isFolder = false;
    return { offset: 0, isDelta: false, bytes: decompress(bytesOf(path, found)) };
  }

  async function plain(wanted: ManifestFile, offset: number): Promise<Delivery> {
    const path = `${GENERATIONS}/${id}/${wanted.path}`;
    const found = isFolder === false ? undefined : await find(path, offset);
    if (found === undefined) throw gone(isFolder === true ? path : remoteFile(wanted.sha256));
    isFolder = true;
    return { offset: found.offset, isDelta: false, bytes: bytesOf(path, found) };
  }

  function gone(path: string): GoneError {
    return new GoneError(
      `${remote.name} does not have ${path}: newer generations were pushed since, or the push is not complete.`,
    );
  }

  return {
    name: remote.name,
    // The pointer names one generation.
    canAdvance: false,
    manifest: async (known) => (known === pointer.manifest_sha256 ? undefined : readManifest()),
    file: (_id, wanted, part) => file(wanted, part),
    received: () => remote.traffic().received - receivedBefore,
    close: () => ending.abort(new Error('The pull has ended.')),
  };
}
