/** Depots behind HTTP that can only be read: a static web server, and the API of another installation. */
import { hash } from 'node:crypto';
import { Readable } from 'node:stream';
import { LARGEST_MANIFEST, type Manifest, parseManifest } from '../lib/format/manifest.ts';
import {
  encodeRelease,
  makeRelease,
  RELEASES,
  storedFile,
  storedManifest,
} from '../lib/format/release.ts';
import { checkPath, type Depot, orRefuse, type TransferredObject } from './depot.ts';
import { asObject, MISSING, makeHttpClient } from './http.ts';
import { readWhole } from './transfers.ts';

/**
 * A static web server, such as nginx. Nothing is expected of it but GET.
 * @param address without a slash at its end
 */
export function openWebDepot(address: string, stallMs?: number): Depot {
  const { send, close } = makeHttpClient(stallMs);
  return {
    name: address,
    get: async (path) => asObject(path, await send(`${address}/${checkPath(path)}`)),
    close,
  };
}

/**
 * The `/snapshot` of another installation's API. Its release is made of the manifest, and is not signed: the
 * address and the key stand for the origin. A replica so asks for the same objects as anywhere.
 * @param address of the API, which ends with /snapshot
 * @param key the API key; no message contains it
 */
export function openApiDepot(address: string, key: string, stallMs?: number): Depot {
  const { send, close } = makeHttpClient(stallMs);
  const fields = { authorization: `Bearer ${key}`, 'accept-encoding': 'gzip' };
  /** The manifest of the last release, and its bytes and ETag. */
  let newest: { manifest: Manifest; encoded: Buffer; etag: string } | undefined;

  /** Reads the manifest, unless it is still the newest. */
  async function readNewest(): Promise<void> {
    const headers = { ...fields, ...(newest && { 'if-none-match': newest.etag }) };
    const reply = await send(address, { headers, empty: newest ? [304] : [] });
    if (reply === undefined) return;
    const what = `The manifest of ${address}`;
    const encoded = await readWhole(reply, LARGEST_MANIFEST, what);
    const manifest = orRefuse(what, () => parseManifest(encoded));
    newest = { manifest, encoded, etag: reply.etag ?? '' };
  }

  return {
    name: address,
    async get(path) {
      if (path === RELEASES.snapshot) await readNewest();
      if (newest === undefined) return undefined;
      const { manifest, encoded } = newest;
      if (path === RELEASES.snapshot) {
        const content = { ...manifest, sha256: hash('sha256', encoded), released_at: null };
        return found(encodeRelease(makeRelease('snapshot', content)));
      }
      if (path === storedManifest(manifest.id)) return found(encoded);
      const file = manifest.files.find(({ sha256 }) => storedFile(sha256) === path);
      if (file === undefined) return undefined;
      return send(`${address}/files/${file.path}`, {
        headers: { ...fields, 'x-snapshot': manifest.id },
        // 412: the API has published another generation since.
        empty: [...MISSING, 412],
      });
    },
    close,
  };
}

function found(content: Buffer | string): TransferredObject {
  return { bytes: Readable.from([Buffer.from(content)]) };
}
