/**
 * A depot in a bucket of S3, or of a server that speaks its protocol. Uses only what all of them have: GET,
 * PUT, DELETE and ListObjectsV2, signed with Signature Version 4. An object is written with one PUT, which
 * replaces it in one step; the SHA-256 of its content is signed, so the server checks it.
 *
 * The prefix ends with "/", so depots with different prefixes never see each other's objects.
 */
import { hash } from 'node:crypto';
import { AwsV4Signer } from 'aws4fetch';
import {
  checkObjectPath,
  isObjectPath,
  type StoredObject,
  TransferError,
  type WritableDepot,
} from './depot.ts';
import { errorOf, foundIn, type HttpRequest, headersFor, makeHttpClient, textOf } from './http.ts';
import { readWhole } from './transfers.ts';

/** In bytes; a list of 1,000 objects has about 300 KB. */
const LARGEST_LIST = 4 * 1024 * 1024;

export interface S3Options {
  readonly bucket: string;
  /** Empty, or ends with "/". */
  readonly prefix: string;
  readonly region: string;
  /** The address of the server; empty for Amazon's. */
  readonly endpoint: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Of temporary credentials; empty for others. */
  readonly sessionToken: string;
}

export function openS3Depot(options: S3Options, stallMs?: number): WritableDepot {
  const { bucket, prefix, accessKeyId, secretAccessKey, sessionToken, region } = options;
  const base = bucketAddress(options);
  const name = `s3://${bucket}${prefix === '' ? '' : `/${prefix.slice(0, -1)}`}`;
  const client = makeHttpClient(name, stallMs);
  // Signing keys, which are derived once a day.
  const cache = new Map<string, ArrayBuffer>();

  /** Signs a request and sends it. */
  async function send(url: string, { headers, ...request }: HttpRequest = {}) {
    const signer = new AwsV4Signer({
      method: request.method ?? 'GET',
      url,
      region,
      service: 's3',
      accessKeyId,
      secretAccessKey,
      cache,
      ...(sessionToken === '' ? {} : { sessionToken }),
      headers: { 'x-amz-content-sha256': hash('sha256', request.body ?? ''), ...headers },
    });
    const signed = await signer.sign();
    return client.send(signed.url.href, {
      ...request,
      headers: Object.fromEntries(signed.headers),
    });
  }

  function addressOf(path: string): string {
    checkObjectPath(path);
    return `${base}/${prefix}${path}`;
  }

  async function change(path: string, method: 'PUT' | 'DELETE', body?: Buffer): Promise<void> {
    const reply = await send(addressOf(path), { method, body });
    const isDone = reply.status >= 200 && reply.status < 300;
    const isGone = method === 'DELETE' && reply.status === 404;
    if (!isDone && !isGone) throw await errorOf(`${name}/${path}`, reply);
    reply.drop();
  }

  /** One page of a list. */
  async function listPage(wanted: string, token: string | undefined): Promise<string> {
    const query = new URLSearchParams({
      'list-type': '2',
      'encoding-type': 'url',
      prefix: prefix + wanted,
      ...(token === undefined ? {} : { 'continuation-token': token }),
    });
    const reply = await send(`${base}?${query}`);
    if (reply.status !== 200) throw await errorOf(name, reply);
    const found = { etag: undefined, coding: undefined, bytes: reply.bytes };
    const xml = (await readWhole(found, LARGEST_LIST, `the list of ${name}`)).toString('utf8');
    if (xml.includes('</ListBucketResult>')) return xml;
    throw new TransferError(`${name} sends something else than a list of objects`);
  }

  return {
    name,
    async get(path, { etag, signal } = {}) {
      const reply = await send(addressOf(path), { headers: headersFor(etag), signal });
      return foundIn(`${name}/${path}`, reply, path.endsWith('.zst') ? 'zstd' : undefined);
    },
    put: (path, bytes) => change(path, 'PUT', bytes),
    remove: (path) => change(path, 'DELETE'),
    async list(wanted) {
      const objects: StoredObject[] = [];
      let token: string | undefined;
      do {
        const xml = await listPage(wanted, token);
        objects.push(...objectsIn(xml, prefix));
        const isTruncated = textOf(xml, 'IsTruncated') === 'true';
        token = isTruncated ? textOf(xml, 'NextContinuationToken') : undefined;
      } while (token !== undefined);
      return objects;
    },
    close: client.close,
  };
}

/**
 * Servers other than Amazon's, and buckets with dots in their names, have the bucket in the path: their
 * TLS certificates do not cover it as a part of the host name.
 */
function bucketAddress({ endpoint, bucket, region }: S3Options): string {
  if (endpoint !== '') return `${endpoint}/${bucket}`;
  return bucket.includes('.')
    ? `https://s3.${region}.amazonaws.com/${bucket}`
    : `https://${bucket}.s3.${region}.amazonaws.com`;
}

function objectsIn(xml: string, prefix: string): StoredObject[] {
  return [...xml.matchAll(/<Contents>(.*?)<\/Contents>/gs)].flatMap(([, entry = '']) => {
    const key = decodeURIComponent((textOf(entry, 'Key') ?? '').replaceAll('+', ' '));
    const path = key.slice(prefix.length);
    // Some programs make empty objects that stand for folders.
    if (!isObjectPath(path)) return [];
    const modifiedAt = new Date(textOf(entry, 'LastModified') ?? '');
    return [{ path, size: Number(textOf(entry, 'Size')), modifiedAt }];
  });
}
