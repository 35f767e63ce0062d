/** Imports what replicas have sent to the key store about the use of keys. */

import { readUpTo } from '../../depot/remote/content.ts';
import type { RemoteStore } from '../../depot/remote/remote.ts';
import { LARGEST_KEY_USAGE } from '../../format/key-usage.ts';
import { isRemoteUsage, KEYS_PREFIXES } from '../../format/keys-pointer.ts';
import { makeReportsImport } from './import-key-usage.ts';

/** @returns a function that imports what has changed since its last call */
export function makeRemoteUsageImport(remote: RemoteStore) {
  return makeReportsImport(async function* () {
    for (const { path: name, modifiedAt } of await remote.list(KEYS_PREFIXES.usage)) {
      if (!isRemoteUsage(name)) continue;
      yield { name, writtenAt: () => modifiedAt.getTime(), read: () => read(remote, name) };
    }
  });
}

/** @returns the text of an object; undefined if it was removed since it was listed */
async function read(remote: RemoteStore, name: string): Promise<string | undefined> {
  const reply = await remote.get(name);
  if (reply.status !== 'found') return undefined;
  const bytes = await readUpTo(reply.bytes, LARGEST_KEY_USAGE);
  if (bytes !== undefined) return bytes.toString('utf8');
  throw new Error(`${name} at ${remote.name} has more than ${LARGEST_KEY_USAGE} bytes.`);
}
