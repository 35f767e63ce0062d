/**
 * Opens the depot that an address names: a folder, `s3://bucket/prefix`, the http or https address of a web
 * server, or of another installation's API, which ends with /api/v1/snapshot.
 */
import path from 'node:path';
import { isWellFormedKey } from '../lib/format/api-key.ts';
import { readValue } from '../lib/program/arguments.ts';
import { ConfigurationError } from '../lib/program/environment/environment.ts';
import { isAddress, parseWebAddress, shownAddress } from '../lib/program/environment/values.ts';
import { readBoundedFileSync } from '../lib/program/files/bounded-file.ts';
import type { Depot, WritableDepot } from './depot.ts';
import { openFolderDepot } from './folder.ts';
import { openS3Depot } from './s3.ts';
import { openApiDepot, openWebDepot } from './web.ts';

interface DepotOptions {
  /** The variables with the credentials of S3. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** A file with the API key, for the API of another installation. */
  readonly keyFile?: string | undefined;
  /** A transfer fails after this time without progress. */
  readonly stallMs?: number;
}

/** In bytes. */
const LARGEST_KEY_FILE = 4096;
/** The objects of keys are small, and a revoked key must soon be refused. */
const KEYS_STALL_MS = 10_000;
const WEB = /^https?:/;

/** Whether an address is that of another installation's API. */
export function isApiAddress(address: string): boolean {
  return WEB.test(address) && /\/api\/v1\/snapshot\/*$/.test(address);
}

/** @throws ConfigurationError if the address, the credentials or the key are wrong */
export function openDepot(address: string, options: DepotOptions = {}): Depot {
  const { keyFile, stallMs } = options;
  if (isApiAddress(address) !== (keyFile !== undefined)) {
    throw new ConfigurationError(
      `An address that ends with /api/v1/snapshot needs --key-file with an API key, and no other does: ${shownAddress(address)}.`,
    );
  }
  if (!WEB.test(address)) return openWritableDepot(address, options);
  const base = readValue('The address of the depot', address, parseWebAddress);
  if (keyFile === undefined) return openWebDepot(base, stallMs);
  return openApiDepot(base, readValue('--key-file:', keyFile, readKey), stallMs);
}

/** As {@link openDepot}. @throws ConfigurationError also for an address that can only be read */
export function openWritableDepot(address: string, options: DepotOptions = {}): WritableDepot {
  const { environment = process.env, stallMs } = options;
  if (address.startsWith('s3:')) return openS3Depot(address, environment, stallMs);
  if (!isAddress(address)) return openFolderDepot(address);
  const fault = WEB.test(address) ? 'can only be read' : 'is not the address of a depot';
  throw new ConfigurationError(
    `${shownAddress(address)} ${fault}. Use a folder or s3://bucket/prefix or, to read only, the http or https address of a web server or of an API.`,
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
  const withSlash = (text: string) => path.join(isAddress(text) ? text : path.resolve(text), '/');
  for (const [name, other] of Object.entries(snapshots)) {
    if (other === '' || !withSlash(address).startsWith(withSlash(other))) continue;
    throw new ConfigurationError(
      `KEYS_DEPOT is ${shownAddress(address)}, which is within ${name} (${shownAddress(other)}), where others could read the keys. Choose another folder or prefix.`,
    );
  }
  return openWritableDepot(address, { stallMs: KEYS_STALL_MS, ...options });
}

/** @returns the key in a file. No message contains it. */
function readKey(file: string): string {
  const key = readBoundedFileSync(file, LARGEST_KEY_FILE).toString('utf8').trim();
  if (isWellFormedKey(key)) return key;
  throw new Error('it does not hold an API key, cck_…, exactly as it was issued. Copy it again.');
}
