/** Depots behind HTTP that can only be read: a static web server, and the API of another installation. */
import { hash } from 'node:crypto';
import { LARGEST_MANIFEST, type Manifest, parseManifest } from '../format/manifest.ts';
import {
  encodeRelease,
  makeRelease,
  RELEASES,
  storedFile,
  storedManifest,
} from '../format/release.ts';
import {
  checkObjectPath,
  codingOf,
  type Depot,
  type Found,
  type GetOptions,
  RefusedReleaseError,
  type Reply,
} from './depot.ts';
import { errorOf, foundIn, headersFor, makeHttpClient } from './http.ts';
import { readWhole } from './transfers.ts';

/**
 * A static web server, such as nginx. Nothing is expected of it but GET; it may support ETags.
 * @param address without a slash at its end
 */
export function openWebDepot(address: string, stallMs?: number): Depot {
  const client = makeHttpClient(address, stallMs);
  return {
    name: address,
    async get(path, { etag, signal } = {}) {
      checkObjectPath(path);
      const url = `${address}/${path}`;
      // Objects are compressed already, and wanted as they are stored.
      const reply = await client.send(url, { headers: headersFor('identity', etag), signal });
      return foundIn(url, reply, codingOf(path));
    },
    close: client.close,
  };
}

/**
 * The `/snapshot` of another installation's API. Its release is made of the manifest, and is not signed: the
 * address and the key stand for the origin. A replica so asks for the same objects as anywhere.
 * @param address of the API, which ends with /snapshot
 * @param key the API key; no message contains it
 */
export function openApiDepot(address: string, key: string, stallMs?: number): Depot {
  const client = makeHttpClient(address, stallMs);
  /** The manifest of the last release, and its bytes. */
  let newest: { readonly manifest: Manifest; readonly encoded: Buffer } | undefined;

  async function request(
    target: string,
    { etag, signal }: GetOptions,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Reply> {
    const url = `${address}${target}`;
    const authorization = `Bearer ${key}`;
    const reply = await client.send(url, {
      headers: { ...headersFor('gzip', etag), ...headers, authorization },
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

  async function readRelease(options: GetOptions): Promise<Reply> {
    const reply = await request('', options);
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
    return { ...found(Buffer.from(encodeRelease(release))), etag: reply.etag };
  }

  return {
    name: address,
    async get(path, options = {}) {
      if (path === RELEASES.snapshot) return readRelease(options);
      if (newest === undefined) return 'missing';
      const { manifest, encoded } = newest;
      if (path === storedManifest(manifest.id)) return found(encoded);
      const file = manifest.files.find(({ sha256 }) => storedFile(sha256) === path);
      if (file === undefined) return 'missing';
      return request(`/files/${file.path}`, options, { 'x-snapshot': manifest.id });
    },
    close: client.close,
  };
}

function found(content: Buffer): Found {
  const bytes = async function* () {
    yield content;
  };
  return { bytes: bytes() };
}
