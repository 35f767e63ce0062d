/**
 * A depot in a bucket of S3, or of a server that speaks its protocol. Uses only what all of them have: GET,
 * PUT, DELETE and ListObjectsV2, signed with Signature Version 4. An object is written with one PUT, which
 * replaces it in one step; the SHA-256 of its content is signed, so the server checks it.
 *
 * The prefix ends with "/", so depots with different prefixes never see each other's objects.
 */
import { hash } from 'node:crypto';
import { AwsClient } from 'aws4fetch';
import { ConfigurationError, readEnvironment } from '../program/environment/environment.ts';
import { shownAddress } from '../program/environment/variables.ts';
import {
  checkPath,
  codingOf,
  isObjectPath,
  type StoredObject,
  type WritableDepot,
} from './depot.ts';
import { type HttpReply, type HttpRequest, MISSING, makeHttpClient, textOf } from './http.ts';
import { readWhole, systemClock, tryAgain } from './transfers.ts';

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
  const { AWS_REGION: region } = settings;
  const prefix = segments.map((segment) => `${segment}/`).join('');
  const base = bucketAddress(bucket, region, settings.AWS_ENDPOINT_URL_S3);
  const name = ['s3:/', bucket, ...segments].join('/');
  const client = makeHttpClient(name, stallMs);
  const signer = new AwsClient({
    accessKeyId: settings.AWS_ACCESS_KEY_ID,
    secretAccessKey: settings.AWS_SECRET_ACCESS_KEY,
    sessionToken: settings.AWS_SESSION_TOKEN,
    region,
    service: 's3',
  });

  /** Signs a request and sends it. @param rest what follows the address of the bucket */
  async function send(rest: string, request: HttpRequest): Promise<HttpReply> {
    const { url, headers } = await signer.sign(base + rest, {
      method: request.method ?? 'GET',
      headers: { 'x-amz-content-sha256': hash('sha256', request.body ?? '') },
    });
    return client.send(url, { ...request, headers: Object.fromEntries(headers) });
  }

  const ask = (path: string, request: HttpRequest = {}) =>
    send(`/${prefix}${checkPath(path)}`, {
      ...request,
      what: `${name}/${path}`,
      expected: request.method === 'PUT' ? [] : MISSING,
    });

  /** Sends a request until it succeeds, and reads the whole reply. */
  const finish = (what: string, work: () => Promise<HttpReply>) =>
    tryAgain(what, async () => readWhole(await work(), LARGEST_LIST, what), systemClock);

  return {
    name,
    async get(path) {
      const reply = await ask(path);
      return MISSING.includes(reply.status) ? undefined : { ...reply, coding: codingOf(path) };
    },
    async put(path, body) {
      await finish(`write ${path}`, () => ask(path, { method: 'PUT', body }));
    },
    async remove(path) {
      await finish(`remove ${path}`, () => ask(path, { method: 'DELETE' }));
    },
    async list(wanted) {
      const objects: StoredObject[] = [];
      for (let token: string | undefined = ''; token !== undefined; ) {
        const query = new URLSearchParams({ 'list-type': '2', prefix: prefix + wanted });
        if (token !== '') query.set('continuation-token', token);
        const page = await finish(`list ${wanted}`, () => send(`?${query}`, { what: name }));
        const xml = page.toString('utf8');
        if (!xml.includes('</ListBucketResult>')) {
          throw new Error(`${name} sends something else than a list of objects.`);
        }
        objects.push(...objectsIn(xml, prefix));
        const isTruncated = textOf(xml, 'IsTruncated') === 'true';
        token = isTruncated ? textOf(xml, 'NextContinuationToken') : undefined;
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
    const path = (textOf(entry, 'Key') ?? '').slice(prefix.length);
    // Other programs may have made objects with other names, such as empty ones that stand for folders.
    if (!isObjectPath(path)) return [];
    const modifiedAt = Date.parse(textOf(entry, 'LastModified') ?? '');
    return [{ path, size: Number(textOf(entry, 'Size')), modifiedAt }];
  });
}
