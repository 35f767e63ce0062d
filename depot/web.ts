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
import { checkObjectPath, codingOf, type Depot, type Found, RefusedReleaseError } from './depot.ts';
import { errorOf, foundIn, type HttpReply, makeHttpClient } from './http.ts';
import { readWhole } from './transfers.ts';

/**
 * A static web server, such as nginx. Nothing is expected of it but GET.
 * @param address without a slash at its end
 */
export function openWebDepot(address: string, stallMs?: number): Depot {
  const client = makeHttpClient(address, stallMs);
  return {
    name: address,
    async get(path, signal) {
      checkObjectPath(path);
      const url = `${address}/${path}`;
      return foundIn(url, await client.send(url, { signal }), codingOf(path));
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
  const fields = { authorization: `Bearer ${key}`, 'accept-encoding': 'gzip' };
  /** The manifest of the last release, and its bytes and ETag. */
  let newest: { manifest: Manifest; encoded: Buffer; etag: string } | undefined;

  /** @throws RefusedReleaseError if the reply has another coding than it was asked for */
  function found(url: string, reply: HttpReply): Promise<Found | undefined> {
    const coding = reply.header('content-encoding');
    if (coding === undefined || coding === 'gzip') return foundIn(url, reply, coding);
    reply.drop();
    throw new RefusedReleaseError(`${url} sends another Content-Encoding than it was asked for.`);
  }

  /** Reads the manifest, unless it is still the newest. */
  async function readNewest(signal: AbortSignal | undefined): Promise<Manifest> {
    const condition = newest && { 'if-none-match': newest.etag };
    const reply = await client.send(address, { headers: { ...fields, ...condition }, signal });
    if (reply.status === 304 && newest !== undefined) {
      reply.drop();
      return newest.manifest;
    }
    if (reply.status !== 200) throw await errorOf(address, reply);
    const content = (await found(address, reply)) as Found;
    const encoded = await readWhole(content, LARGEST_MANIFEST, `The manifest of ${address}`);
    try {
      const manifest = parseManifest(encoded);
      newest = { encoded, manifest, etag: reply.header('etag') ?? '' };
      return manifest;
    } catch (cause) {
      throw new RefusedReleaseError(`${address}: ${(cause as Error).message}`, { cause });
    }
  }

  return {
    name: address,
    async get(path, signal) {
      if (path === RELEASES.snapshot) {
        const { id, sequence } = await readNewest(signal);
        const sha256 = hash('sha256', newest?.encoded ?? '');
        const release = makeRelease('snapshot', { id, sequence, sha256, released_at: null });
        return { bytes: once(Buffer.from(encodeRelease(release))) };
      }
      if (newest === undefined) return undefined;
      const { manifest, encoded } = newest;
      if (path === storedManifest(manifest.id)) return { bytes: once(encoded) };
      const file = manifest.files.find(({ sha256 }) => storedFile(sha256) === path);
      if (file === undefined) return undefined;
      const url = `${address}/files/${file.path}`;
      const headers = { ...fields, 'x-snapshot': manifest.id };
      const reply = await client.send(url, { headers, signal });
      if (reply.status !== 412) return found(url, reply);
      // The API has published another generation since.
      reply.drop();
      return undefined;
    },
    close: client.close,
  };
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}
