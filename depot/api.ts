/**
 * The `/snapshot` of another installation's API as a depot that can only be read, with an API key. Its
 * release is made of the manifest, and is not signed: the address and the key stand for the origin. A
 * replica so asks for the same objects as anywhere; files travel compressed with gzip.
 */
import { hash } from 'node:crypto';
import { LARGEST_MANIFEST, type Manifest, parseManifest } from '../format/manifest.ts';
import {
  encodeRelease,
  makeRelease,
  RELEASES,
  shaOfStoredFile,
  storedManifest,
} from '../format/release.ts';
import { type Depot, type GetOptions, RefusedReleaseError, type Reply } from './depot.ts';
import { errorOf, foundIn, makeHttpClient } from './http.ts';
import { readWhole } from './transfers.ts';

/**
 * @param address of the API, which ends with /snapshot
 * @param key the API key; no message contains it
 */
export function openApiDepot(address: string, key: string, stallMs?: number): Depot {
  const client = makeHttpClient(address, stallMs);
  /** The manifest of the last release, and its bytes. */
  let newest: { readonly manifest: Manifest; readonly encoded: Buffer } | undefined;

  async function request(
    target: string,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal | undefined,
  ): Promise<Reply> {
    const url = `${address}${target}`;
    const authorization = `Bearer ${key}`;
    const reply = await client.send(url, {
      headers: { authorization, 'accept-encoding': 'gzip', ...headers },
      signal,
    });
    // The API has published another generation since: 412, because of X-Snapshot.
    if (reply.status === 412) {
      reply.drop();
      return 'missing';
    }
    if (reply.status === 404 && target === '') throw await errorOf(url, reply);
    const coding = reply.header('content-encoding');
    if (coding === undefined || coding === 'gzip') return foundIn(url, reply, coding);
    reply.drop();
    throw new RefusedReleaseError(`${url} sends another Content-Encoding than it was asked for.`);
  }

  async function readRelease({ etag, signal }: GetOptions): Promise<Reply> {
    const condition = etag === undefined ? {} : { 'if-none-match': etag };
    const reply = await request('', condition, signal);
    if (typeof reply === 'string') return reply;
    const encoded = await readWhole(reply, LARGEST_MANIFEST, `The manifest of ${address}`);
    try {
      newest = { encoded, manifest: parseManifest(encoded) };
    } catch (cause) {
      throw new RefusedReleaseError(`${address}: ${(cause as Error).message}`, { cause });
    }
    const { id, sequence } = newest.manifest;
    const sha256 = hash('sha256', encoded);
    const release = makeRelease('snapshot', { id, sequence, sha256, released_at: null });
    return found(Buffer.from(encodeRelease(release)), reply.etag);
  }

  return {
    name: address,
    async get(path, options = {}) {
      if (path === RELEASES.snapshot) return readRelease(options);
      if (newest === undefined) return 'missing';
      const { manifest, encoded } = newest;
      if (path === storedManifest(manifest.id)) return found(encoded, undefined);
      const sha256 = shaOfStoredFile(path);
      const file = manifest.files.find((each) => each.sha256 === sha256);
      if (file === undefined) return 'missing';
      return request(`/files/${file.path}`, { 'x-snapshot': manifest.id }, options.signal);
    },
    close: client.close,
  };
}

function found(bytes: Buffer, etag: string | undefined): Reply {
  const content = async function* () {
    yield bytes;
  };
  return { etag, coding: undefined, bytes: content() };
}
