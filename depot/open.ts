/**
 * Opens the depot that an address names: a folder, `s3://bucket/prefix`, the http or https address of a web
 * server, or of another installation's API, which ends with /api/v1/snapshot.
 */
import { isWellFormedKey } from '../format/api-key.ts';
import { ConfigurationError, readEnvironment } from '../program/environment/environment.ts';
import { isAddress, parseWebAddress, shownAddress } from '../program/environment/values.ts';
import { readBoundedFileSync } from '../program/files/bounded-file.ts';
import { openApiDepot } from './api.ts';
import type { Depot, WritableDepot } from './depot.ts';
import { openFolderDepot } from './folder.ts';
import { openWebDepot } from './http.ts';
import { openS3Depot } from './s3.ts';

export interface DepotOptions {
  /** Where the credentials of S3 are: variables whose names begin with `AWS_`. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** A file with the API key, for the API of another installation. */
  readonly keyFile?: string | undefined;
  /** A transfer fails after this time without progress. */
  readonly stallMs?: number;
}

/** In bytes. */
const LARGEST_KEY_FILE = 4096;
const S3_ADDRESS = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(\/[A-Za-z0-9._~/-]*)?$/;
const API_ADDRESS = /\/api\/v1\/snapshot$/;

/** Whether an address is that of another installation's API. */
export function isApiAddress(address: string): boolean {
  return /^https?:/.test(address) && API_ADDRESS.test(address.replace(/\/+$/, ''));
}

/** @throws ConfigurationError if the address, the credentials or the key are wrong */
export function openDepot(address: string, options: DepotOptions = {}): Depot {
  const { keyFile, stallMs } = options;
  if (isApiAddress(address)) {
    return openApiDepot(readAddress(address), readKey(address, keyFile), stallMs);
  }
  if (keyFile !== undefined) {
    throw new ConfigurationError(
      `--key-file is for the API of another installation, whose address ends with /api/v1/snapshot, not for ${shownAddress(address)}.`,
    );
  }
  if (/^https?:/.test(address)) return openWebDepot(readAddress(address), stallMs);
  return openWritableDepot(address, options);
}

/** As {@link openDepot}. @throws ConfigurationError also for an address that can only be read */
export function openWritableDepot(address: string, options: DepotOptions = {}): WritableDepot {
  if (address.startsWith('s3:')) return openBucket(address, options);
  if (/^https?:/.test(address)) {
    throw new ConfigurationError(
      `${shownAddress(address)} is the address of a web server, which can only be read. Name the folder that it serves, or s3://bucket/prefix.`,
    );
  }
  if (!isAddress(address)) return openFolderDepot(address);
  throw new ConfigurationError(
    `${shownAddress(address)} is not the address of a depot. Use a folder, s3://bucket/prefix, or the http or https address of a web server or of an API.`,
  );
}

/**
 * Opens the depot of KEYS_DEPOT, which must not be a part of a depot that others can read.
 * @param snapshots the addresses of depots of snapshots, by the name of their variable or option
 * @returns undefined if the address is empty
 * @throws ConfigurationError if the address is wrong, or within another depot
 */
export function openKeysDepot(
  address: string,
  snapshots: Readonly<Record<string, string>>,
  options: DepotOptions = {},
): WritableDepot | undefined {
  if (address === '') return undefined;
  for (const [name, other] of Object.entries(snapshots)) {
    if (other === '' || !isWithin(address, other)) continue;
    throw new ConfigurationError(
      `KEYS_DEPOT is ${shownAddress(address)}, which is within ${name} (${shownAddress(other)}): whoever may read snapshots could read the keys. Choose another folder or prefix.`,
    );
  }
  return openWritableDepot(address, options);
}

function isWithin(address: string, other: string): boolean {
  const withSlash = (text: string) => `${text.replace(/\/+$/, '')}/`;
  return withSlash(address).startsWith(withSlash(other));
}

function openBucket(address: string, { environment = process.env, stallMs }: DepotOptions) {
  const [, bucket, rest = ''] = S3_ADDRESS.exec(address) ?? [];
  const segments = rest.split('/').filter((segment) => segment !== '');
  if (bucket === undefined || segments.some((segment) => segment.startsWith('.'))) {
    throw new ConfigurationError(
      `${shownAddress(address)} is not an address of S3. Use s3://bucket or s3://bucket/prefix; the server and the credentials are in the variables AWS_….`,
    );
  }
  const values = readEnvironment(
    [
      'AWS_ACCESS_KEY_ID',
      'AWS_SECRET_ACCESS_KEY',
      'AWS_SESSION_TOKEN',
      'AWS_REGION',
      'AWS_ENDPOINT_URL_S3',
    ],
    environment,
  );
  for (const name of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'] as const) {
    if (values[name] !== '') continue;
    throw new ConfigurationError(`${name} is not set. ${address} needs it.`);
  }
  const options = {
    bucket,
    prefix: segments.map((segment) => `${segment}/`).join(''),
    region: values.AWS_REGION,
    endpoint: values.AWS_ENDPOINT_URL_S3,
    accessKeyId: values.AWS_ACCESS_KEY_ID,
    secretAccessKey: values.AWS_SECRET_ACCESS_KEY,
    sessionToken: values.AWS_SESSION_TOKEN,
  };
  return openS3Depot(options, stallMs);
}

function readAddress(address: string): string {
  try {
    return parseWebAddress(address);
  } catch (cause) {
    throw new ConfigurationError(`The address of the depot ${(cause as Error).message}`, { cause });
  }
}

/** No message contains the key. */
function readKey(address: string, file: string | undefined): string {
  if (file === undefined) {
    throw new ConfigurationError(
      `${shownAddress(address)} needs an API key. Name the file that contains it with --key-file.`,
    );
  }
  let key: string;
  try {
    key = readBoundedFileSync(file, LARGEST_KEY_FILE).toString('utf8').trim();
  } catch (cause) {
    throw new ConfigurationError(`--key-file cannot be read: ${(cause as Error).message}`, {
      cause,
    });
  }
  if (isWellFormedKey(key)) return key;
  throw new ConfigurationError(
    '--key-file does not hold an API key: "cck_" and 38 letters and digits, which contain a checksum. Copy the key again.',
  );
}
