/** Opens the remote store that an address names. */
import { ConfigurationError, readEnvironment } from '../../program/environment/environment.ts';
import { isAddress, parseWebAddress, shownAddress } from '../../program/environment/values.ts';
import { openFolderStore } from './folder-store.ts';
import type { RemoteStore } from './remote.ts';
import { openS3Store } from './s3-store.ts';
import { openWebStore } from './web-store.ts';

export interface RemoteOptions {
  /** A transfer fails after this time without progress. */
  readonly stallSeconds: number;
  /** Where the credentials of S3 are: variables whose names begin with `AWS_`. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

const S3_ADDRESS = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(\/[A-Za-z0-9._~/-]*)?$/;

/**
 * @param address a folder, `s3://bucket/prefix`, or the http or https address of a static web server
 * @throws ConfigurationError if the address or the credentials are wrong, Error if the folder is missing
 */
export function openRemote(address: string, options: RemoteOptions): RemoteStore {
  const { stallSeconds, environment = process.env } = options;
  if (address.startsWith('s3:')) return openBucket(address, stallSeconds, environment);
  if (/^https?:/.test(address)) return openWebStore(readAddress(address), stallSeconds);
  if (isAddress(address)) {
    throw new ConfigurationError(
      `${shownAddress(address)} is not the address of a store. Use a folder, s3://bucket/prefix, or the http or https address of a web server.`,
    );
  }
  return openFolderStore(address);
}

function openBucket(
  address: string,
  stallSeconds: number,
  environment: Readonly<Record<string, string | undefined>>,
): RemoteStore {
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
  return openS3Store({
    bucket,
    prefix: segments.map((segment) => `${segment}/`).join(''),
    region: values.AWS_REGION,
    endpoint: values.AWS_ENDPOINT_URL_S3,
    accessKeyId: values.AWS_ACCESS_KEY_ID,
    secretAccessKey: values.AWS_SECRET_ACCESS_KEY,
    sessionToken: values.AWS_SESSION_TOKEN,
    stallSeconds,
  });
}

function readAddress(address: string): string {
  try {
    return parseWebAddress(address);
  } catch (cause) {
    throw new ConfigurationError(`The address of the store ${(cause as Error).message}`, { cause });
  }
}
