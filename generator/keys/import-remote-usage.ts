/**
 * Imports what replicas have sent to the key store about the use of keys. Objects that have not
 * changed since they were imported are skipped.
 */
import type { Database } from '../../database/database.ts';
import { LARGEST_KEY_USAGE, parseKeyUsage } from '../../format/key-usage.ts';
import { isRemoteUsage, KEYS_PREFIXES } from '../../format/keys-pointer.ts';
import { readUpTo } from '../../store/remote/content.ts';
import type { RemoteStore } from '../../store/remote/remote.ts';
import { makeReportImport } from './import-report.ts';

/**
 * @returns a function that imports what has changed since its last call. An object that cannot be
 * imported does not stop the others; the first error is thrown at the end.
 */
export function makeRemoteUsageImport(
  remote: RemoteStore,
): (database: Database, now: Date) => Promise<void> {
  const importReport = makeReportImport();
  /** For each imported object, when it was written. */
  const imported = new Map<string, number>();

  return async function importRemoteUsage(database, now) {
    const faults: Error[] = [];
    for (const { path: name, modifiedAt } of await remote.list(KEYS_PREFIXES.usage)) {
      const time = modifiedAt.getTime();
      if (!isRemoteUsage(name) || imported.get(name) === time) continue;
      try {
        const text = await read(remote, name);
        if (text === undefined) continue;
        await importReport(database, now, parseKeyUsage(text, name));
        imported.set(name, time);
      } catch (error) {
        faults.push(error as Error);
      }
    }
    if (faults[0] !== undefined) throw faults[0];
  };
}

/** @returns the text of an object; undefined if it was removed since it was listed */
async function read(remote: RemoteStore, name: string): Promise<string | undefined> {
  const reply = await remote.get(name);
  if (reply.status !== 'found') return undefined;
  const bytes = await readUpTo(reply.bytes, LARGEST_KEY_USAGE);
  if (bytes !== undefined) return bytes.toString('utf8');
  throw new Error(`${name} at ${remote.name} has more than ${LARGEST_KEY_USAGE} bytes.`);
}
