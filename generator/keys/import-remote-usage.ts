/** Imports what replicas have sent to their depot about the use of keys. */
import type { WritableDepot } from '../../depot/depot.ts';
import { readObject, systemClock } from '../../depot/transfers.ts';
import { LARGEST_KEY_USAGE } from '../../format/key-usage.ts';
import { isStoredUsage, USAGE_PREFIX } from '../../format/release.ts';
import { makeReportsImport } from './import-key-usage.ts';

/** @returns a function that imports what has changed since its last call */
export function makeRemoteUsageImport(depot: WritableDepot) {
  return makeReportsImport(async function* () {
    for (const { path: name, modifiedAt } of await depot.list(USAGE_PREFIX)) {
      if (!isStoredUsage(name)) continue;
      yield { name, writtenAt: () => modifiedAt.getTime(), read: () => read(depot, name) };
    }
  });
}

/** @returns the text of an object; undefined if it was removed since it was listed */
async function read(depot: WritableDepot, name: string): Promise<string | undefined> {
  const bytes = await readObject(depot, name, LARGEST_KEY_USAGE, systemClock);
  return bytes?.toString('utf8');
}
