/**
 * A depot in a bucket of S3, or of a server that speaks its protocol. Uses only what all of them have: GET,
 * PUT, DELETE and ListObjectsV2, signed with Signature Version 4. An object is written with one PUT, which
 * replaces it in one step; the SHA-256 of its content is signed, so the server checks it.
 *
 * The prefix ends with "/", so depots with different prefixes never see each other's objects.
 */
import { hash } from 'node:crypto';
import { AwsV4Signer } from 'aws4fetch';
import { ConfigurationError, readEnvironment } from '../program/environment/environment.ts';
import { shownAddress } from '../program/environment/variables.ts';
import {
  checkObjectPath,
  codingOf,
  isObjectPath,
  type StoredObject,
  TransferError,
  type WritableDepot,
} from './depot.ts';
import { errorOf, foundIn, type HttpRequest, makeHttpClient, textOf } from './http.ts';
import { readWhole } from './transfers.ts';

/** In bytes; a list of 1,000 objects has about 300 KB. */
const LARGEST_LIST = 4 * 1024 * 1024;

const ADDRESS = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(\/[A-Za-z0-9._~/-]*)?$/;
const VARIABLES = [
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
  'AWS_REGION',
  'AWS_ENDPOINT_URL_S3',
] as const;

/** @throws ConfigurationError if the address or the credentials are wrong */
export function openS3Depot(
  address: string,
  environment: Readonly<Record<string, string | undefined>>,
  stallMs?: number,
): WritableDepot {
  const [, bucket, rest = ''] = ADDRESS.exec(address) ?? [];
  const segments = rest.split('/').filter((segment) => segment !== '');
  if (bucket === undefined || segments.some((segment) => segment.startsWith('.'))) {
    throw new ConfigurationError(
      `${shownAddress(address)} is not an address of S3. Use s3://bucket or s3://bucket/prefix; the server and the credentials are in the variables AWS_….`,
    );
  }
  const settings = readEnvironment(VARIABLES, environment);
  for (const variable of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'] as const) {
    if (settings[variable] !== '') continue;
    throw new ConfigurationError(`${variable} is not set. ${address} needs it.`);
  }
  const { AWS_REGION: region, AWS_SESSION_TOKEN: sessionToken } = settings;
  const prefix = segments.map((segment) => `${segment}/`).join('');
  const base = bucketAddress(bucket, region, settings.AWS_ENDPOINT_URL_S3);
  const name = ['s3:/', bucket, ...segments].join('/');
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
      accessKeyId: settings.AWS_ACCESS_KEY_ID,
      secretAccessKey: settings.AWS_SECRET_ACCESS_KEY,
      cache,
      ...(sessionToken === '' ? {} : { sessionToken }),
      headers: { 'x-amz-content-sha256': hash('sha256', request.body ?? ''), ...headers },
    });
    const signed = await signer.sign();
    const fields = Object.fromEntries(signed.headers);
    return client.send(signed.url.href, { ...request, headers: fields });
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

  return {
    name,
    async get(path, signal) {
      const reply = await send(addressOf(path), { signal });
      return foundIn(`${name}/${path}`, reply, codingOf(path));
    },
    put: (path, bytes) => change(path, 'PUT', bytes),
    remove: (path) => change(path, 'DELETE'),
    async list(wanted) {
      const objects: StoredObject[] = [];
      const query = { 'list-type': '2', 'encoding-type': 'url', prefix: prefix + wanted };
      for (let next: Record<string, string> | undefined = {}; next !== undefined; ) {
        const reply = await send(`${base}?${new URLSearchParams({ ...query, ...next })}`);
        if (reply.status !== 200) throw await errorOf(name, reply);
        const xml = (await readWhole(reply, LARGEST_LIST, `the list of ${name}`)).toString('utf8');
        if (!xml.includes('</ListBucketResult>')) {
          throw new TransferError(`${name} sends something else than a list of objects`);
        }
        objects.push(...objectsIn(xml, prefix));
        const token = textOf(xml, 'NextContinuationToken');
        const isTruncated = textOf(xml, 'IsTruncated') === 'true' && token !== undefined;
        next = isTruncated ? { 'continuation-token': token } : undefined;
      }
      return objects;
    },
    close: client.close,
  };
}

/**
 * Servers other than Amazon's, and buckets with dots in their names, have the bucket in the path: their
 * TLS certificates do not cover it as a part of the host name.
 */
function bucketAddress(bucket: string, region: string, endpoint: string): string {
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
    const modifiedAt = Date.parse(textOf(entry, 'LastModified') ?? '');
    return [{ path, size: Number(textOf(entry, 'Size')), modifiedAt }];
  });
}
