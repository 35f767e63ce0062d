/**
 * Imports what replicas have sent to the store of keys about the use of keys. Objects that have not
 * changed since they were imported are skipped.
 */
import type { Database } from '../../database/database.ts';
import { encodeKeyUsage, LARGEST_KEY_USAGE, parseKeyUsage } from '../../format/key-usage.ts';
import { isRemoteUsage, KEYS_PREFIXES } from '../../format/keys-pointer.ts';
import { readUpTo } from '../../store/remote/content.ts';
import type { RemoteStore } from '../../store/remote/remote.ts';
import { makeDaysImport } from './import-days.ts';

/**
 * @returns a function that imports what has changed since its last call. An object that cannot be
 * imported does not stop the others; the first error is thrown at the end.
 */
export function makeRemoteUsageImport(
  remote: RemoteStore,
): (database: Database, now: Date) => Promise<void> {
  const importDays = makeDaysImport();
  /** For each imported object, when it was written. */
  const imported = new Map<string, number>();

  return async function importRemoteUsage(database, now) {
    const faults: Error[] = [];
    for (const { path: name, modifiedAt } of await remote.list(KEYS_PREFIXES.usage)) {
      const time = modifiedAt.getTime();
      if (!isRemoteUsage(name) || imported.get(name) === time) continue;
      try {
        const days = parseKeyUsage(await read(remote, name), name);
        if (await importDays(database, now, days)) imported.set(name, time);
      } catch (error) {
        faults.push(error as Error);
      }
    }
    if (faults[0] !== undefined) throw faults[0];
  };
}

async function read(remote: RemoteStore, name: string): Promise<string> {
  const reply = await remote.get(name);
  // Removed since it was listed.
  if (reply.status !== 'found') return encodeKeyUsage(new Map());
  const bytes = await readUpTo(reply.bytes, LARGEST_KEY_USAGE);
  if (bytes !== undefined) return bytes.toString('utf8');
  throw new Error(`${name} at ${remote.name} has more than ${LARGEST_KEY_USAGE} bytes.`);
}
