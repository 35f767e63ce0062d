/** Opens the key store, which must not be a part of a store that others can read. */
import { ConfigurationError } from '../../program/environment/environment.ts';
import { shownAddress } from '../../program/environment/values.ts';
import { openLater } from '../remote/open-later.ts';
import type { RemoteOptions } from '../remote/open-remote.ts';
import type { RemoteStore } from '../remote/remote.ts';

/**
 * @param address of KEYS_STORE
 * @param snapshots the addresses of stores of snapshots, by the name of their variable or option
 * @returns undefined if the address is empty
 * @throws ConfigurationError if the address is wrong, or within a snapshot store
 */
export function openKeysStore(
  address: string,
  snapshots: Readonly<Record<string, string>>,
  options: RemoteOptions,
): RemoteStore | undefined {
  if (address === '') return undefined;
  for (const [name, other] of Object.entries(snapshots)) {
    if (other === '' || !isWithin(address, other)) continue;
    throw new ConfigurationError(
      `KEYS_STORE is ${shownAddress(address)}, which is within ${name} (${shownAddress(other)}): whoever may read snapshots could read the keys. Choose another folder or prefix.`,
    );
  }
  return openLater(address, options);
}

function isWithin(address: string, other: string): boolean {
  const withSlash = (text: string) => `${text.replace(/\/+$/, '')}/`;
  return withSlash(address).startsWith(withSlash(other));
}
