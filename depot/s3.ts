/**
 * A depot in a bucket of S3, or of a server that speaks its protocol. Uses only what all of them have: GET,
 * PUT, DELETE and ListObjectsV2, signed with Signature Version 4. An object is written with one PUT, which
 * replaces it in one step; the SHA-256 of its content is signed, so the server checks it. The prefix ends with
 * "/", so depots with different prefixes never see each other's objects.
 */
import { hash } from 'node:crypto';
import { AwsClient } from 'aws4fetch';
import { isCount } from '../lib/format/json/values.ts';
import { ConfigurationError, readEnvironment } from '../lib/program/environment/environment.ts';
import { shownAddress } from '../lib/program/environment/values.ts';
import { checkPath, isObjectPath, type StoredObject, type WritableDepot } from './depot.ts';
import { asObject, elementText, type HttpReply, type HttpRequest, makeHttpClient } from './http.ts';
import { readWhole, tryAgain } from './transfers.ts';

/** In bytes; a page of a list with 1,000 objects has about 300 KB. */
const LARGEST_PAGE = 4 * 1024 * 1024;
/** Of one list. Servers send 1,000 objects a page; a depot has some thousands. */
const MOST_PAGES = 1_000;
const MOST_OBJECTS = 200_000;

const ADDRESS = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*?))?\/*$/;
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
  const [, bucket, folder = ''] = ADDRESS.exec(address) ?? [];
  if (bucket === undefined || !(folder === '' || isObjectPath(folder))) {
    throw new ConfigurationError(
      `${shownAddress(address)} is not an address of S3. Use s3://bucket or s3://bucket/prefix; the rest is in the variables AWS_….`,
    );
  }
  const checkSet = (value: string) => {
    if (value === '') throw new Error(`is not set. ${address} needs it.`);
  };
  const settings = readEnvironment(VARIABLES, environment, {
    AWS_ACCESS_KEY_ID: checkSet,
    AWS_SECRET_ACCESS_KEY: checkSet,
  });
  const region = settings.AWS_REGION;
  const prefix = folder && `${folder}/`;
  const name = `s3://${bucket}/${folder}`.replace(/\/$/, '');
  // The bucket in the path works with every server, also if its certificate has no wildcard.
  const base = `${settings.AWS_ENDPOINT_URL_S3 || `https://s3.${region}.amazonaws.com`}/${bucket}`;
  const client = makeHttpClient(stallMs);
  const signer = new AwsClient({
    accessKeyId: settings.AWS_ACCESS_KEY_ID,
    secretAccessKey: settings.AWS_SECRET_ACCESS_KEY,
    sessionToken: settings.AWS_SESSION_TOKEN,
    region,
    service: 's3',
  });

  /** Signs a request and sends it. @param rest what follows the address of the bucket */
  async function send(rest: string, request: HttpRequest = {}): Promise<HttpReply | undefined> {
    const { url, headers } = await signer.sign(base + rest, {
      method: request.method ?? 'GET',
      headers: { 'x-amz-content-sha256': hash('sha256', request.body ?? '') },
    });
    return client.send(url, { ...request, headers: Object.fromEntries(headers) });
  }

  const ask = async (path: string, request?: HttpRequest) =>
    send(`/${prefix}${checkPath(path)}`, request);

  /** Sends a request until it succeeds, and reads the whole reply. */
  const finish = (what: string, work: () => ReturnType<typeof send>) =>
    tryAgain(what, async () => {
      const reply = await work();
      return reply && readWhole(reply, LARGEST_PAGE, what);
    });

  return {
    name,
    get: async (path) => asObject(path, await ask(path)),
    async put(path, body) {
      await finish(`write ${path}`, () => ask(path, { method: 'PUT', body, empty: [] }));
    },
    async remove(path) {
      await finish(`remove ${path}`, () => ask(path, { method: 'DELETE' }));
    },
    async list(wanted) {
      const objects: StoredObject[] = [];
      const query = new URLSearchParams({ 'list-type': '2', prefix: prefix + wanted });
      for (let pages = 1; ; pages++) {
        const xml = String(await finish(`list ${wanted}`, () => send(`?${query}`)));
        if (!xml.includes('</ListBucketResult>')) {
          throw new Error(`${name} sends something else than a list of objects.`);
        }
        for (const object of objectsIn(xml, prefix)) objects.push(object);
        const token = elementText(xml, 'NextContinuationToken');
        if (!token) return objects;
        const isRepeated = token === query.get('continuation-token');
        if (isRepeated || pages === MOST_PAGES || objects.length > MOST_OBJECTS) {
          throw new Error(`${name} sends a list that does not end (${objects.length} objects).`);
        }
        query.set('continuation-token', token);
      }
    },
    close: client.close,
  };
}

/** Splits at fixed texts: a pattern over a whole entry would take quadratic time if entries had no end. */
function* objectsIn(xml: string, prefix: string): Generator<StoredObject> {
  for (const entry of xml.split('<Contents>').slice(1)) {
    const path = (elementText(entry, 'Key') ?? '').slice(prefix.length);
    // Other programs may have made objects with other names, such as empty ones that stand for folders.
    if (!isObjectPath(path)) continue;
    const size = Number(elementText(entry, 'Size') ?? NaN);
    const modifiedAt = Date.parse(elementText(entry, 'LastModified') ?? '');
    // An object without a size or time counts as missing.
    if (isCount(size) && !Number.isNaN(modifiedAt)) yield { path, size, modifiedAt };
  }
}
