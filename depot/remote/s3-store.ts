/**
 * A remote store in a bucket of S3, or of a server that speaks its protocol. Uses only what all of them
 * have: GET, PUT, DELETE and ListObjectsV2, signed with Signature Version 4. An object is written with
 * one PUT, which replaces it in one step; the SHA-256 of its content is signed, so the server checks it.
 *
 * The prefix ends with "/", so stores with different prefixes never see each other's objects.
 */
import { AwsV4Signer } from 'aws4fetch';
import { makeHttpClient, type SendOptions } from '../transfer/http-client.ts';
import { TransferError } from '../transfer/try-again.ts';
import { readUpTo } from './content.ts';
import { errorOf, readObject, textOf } from './http-objects.ts';
import { checkObjectPath, checkPrefix } from './object-path.ts';
import type { Content, RemoteObject, RemoteStore } from './remote.ts';
import { trafficOf } from './web-store.ts';

/** Of a request without a body. */
const EMPTY_SHA256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
/** In bytes; a list of 1,000 objects has about 300 KB. */
const LARGEST_LIST = 16 * 1024 * 1024;

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
  readonly stallSeconds: number;
}

export function openS3Store(options: S3Options): RemoteStore {
  const { bucket, prefix } = options;
  const base = bucketAddress(options);
  const name = `s3://${bucket}${prefix === '' ? '' : `/${prefix.slice(0, -1)}`}`;
  const client = makeHttpClient(base.startsWith('https:'), options.stallSeconds);
  const closed = new AbortController();
  // Signing keys, which are derived once a day.
  const cache = new Map<string, ArrayBuffer>();

  /** Signs a request and sends it. */
  async function send(
    url: string,
    headers: Readonly<Record<string, string>>,
    { method = 'GET', signal, ...rest }: SendOptions = {},
  ) {
    const { accessKeyId, secretAccessKey, sessionToken, region } = options;
    const signer = new AwsV4Signer({
      method,
      url,
      region,
      service: 's3',
      accessKeyId,
      secretAccessKey,
      cache,
      ...(sessionToken === '' ? {} : { sessionToken }),
      headers: { 'x-amz-content-sha256': EMPTY_SHA256, ...headers },
    });
    const signed = await signer.sign();
    return client.send(signed.url.href, Object.fromEntries(signed.headers), {
      method,
      ...rest,
      signal: AbortSignal.any([closed.signal, signal ?? closed.signal]),
    });
  }

  function addressOf(path: string): string {
    checkObjectPath(path);
    return `${base}/${prefix}${path}`;
  }

  async function change(path: string, method: 'PUT' | 'DELETE', content?: Content): Promise<void> {
    const headers: Record<string, string> =
      content === undefined
        ? {}
        : { 'content-length': String(content.size), 'x-amz-content-sha256': content.sha256 };
    const body = content === undefined ? {} : { body: content.open() };
    const reply = await send(addressOf(path), headers, { method, ...body });
    const isDone = reply.status >= 200 && reply.status < 300;
    const isGone = method === 'DELETE' && reply.status === 404;
    if (!isDone && !isGone) throw await errorOf(`${name}/${path}`, reply);
    // Reads the rest, so that the connection can be used again.
    for await (const _ of reply.body);
  }

  /** One page of a list. */
  async function listPage(wanted: string, token: string | undefined) {
    const query = new URLSearchParams({
      'list-type': '2',
      'encoding-type': 'url',
      prefix: prefix + wanted,
      ...(token === undefined ? {} : { 'continuation-token': token }),
    });
    const reply = await send(`${base}?${query}`, {});
    if (reply.status !== 200) throw await errorOf(name, reply);
    const xml = (await readUpTo(reply.body, LARGEST_LIST))?.toString('utf8');
    if (!xml?.includes('</ListBucketResult>')) {
      throw new TransferError(`${name} sends something else than a list of objects`);
    }
    return xml;
  }

  return {
    name,
    isWritable: true,
    get: async (path, options = {}) => {
      const url = addressOf(path);
      return readObject(`${name}/${path}`, options, (headers) =>
        send(url, headers, { signal: options.signal }),
      );
    },
    put: (path, content) => change(path, 'PUT', content),
    remove: (path) => change(path, 'DELETE'),
    async list(wanted) {
      checkPrefix(wanted);
      const objects: RemoteObject[] = [];
      let token: string | undefined;
      do {
        const xml = await listPage(wanted, token);
        objects.push(...objectsIn(xml, prefix));
        token =
          textOf(xml, 'IsTruncated') === 'true' ? textOf(xml, 'NextContinuationToken') : undefined;
      } while (token !== undefined);
      return objects.sort((a, b) => (a.path < b.path ? -1 : 1));
    },
    // A PUT that was cut off leaves nothing behind.
    removeUnfinished: async () => {},
    traffic: () => trafficOf(client),
    close() {
      closed.abort(new Error(`${name} was closed.`));
      client.close();
    },
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

function objectsIn(xml: string, prefix: string): RemoteObject[] {
  return [...xml.matchAll(/<Contents>(.*?)<\/Contents>/gs)].flatMap(([, entry = '']) => {
    const key = decodeURIComponent((textOf(entry, 'Key') ?? '').replaceAll('+', ' '));
    const path = key.slice(prefix.length);
    // Some programs make empty objects that stand for folders.
    if (path === '' || path.endsWith('/')) return [];
    const size = Number(textOf(entry, 'Size'));
    return [{ path, size, modifiedAt: new Date(textOf(entry, 'LastModified') ?? '') }];
  });
}
