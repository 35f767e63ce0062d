/**
 * Sends what the proxies of a replica report about the use of keys to the key store, where
 * `cover-catalogue schedule` imports it. A file is sent when it has changed.
 */
import { lstatSync } from 'node:fs';
import path from 'node:path';
import { LARGEST_KEY_USAGE } from '../../format/key-usage.ts';
import { remoteUsage } from '../../format/keys-pointer.ts';
import { isKeyUsageFile, PROXY_FOLDER } from '../../format/layout.ts';
import { namesIn } from '../../generations/generations.ts';
import { NO_LINK, readBoundedFileSync } from '../../program/files/bounded-file.ts';
import { contentOf } from '../remote/content.ts';
import type { RemoteStore } from '../remote/remote.ts';

/**
 * @param replica the name of the replica
 * @returns a function that sends the files that have changed since its last call, and returns how many.
 * A file that cannot be sent does not stop the others; the first error is thrown at the end.
 */
export function makeUsageSender(
  remote: RemoteStore,
  snapshotsDir: string,
  replica: string,
): () => Promise<number> {
  const folder = path.join(snapshotsDir, PROXY_FOLDER);
  const sentMtimes = new Map<string, number>();

  async function sendFile(name: string): Promise<boolean> {
    const file = path.join(folder, name);
    const mtimeMs = lstatSync(file, { throwIfNoEntry: false })?.mtimeMs;
    if (mtimeMs === undefined || mtimeMs === sentMtimes.get(name)) return false;
    // Links are refused: the proxy may run as a user with fewer rights, and could link to any file.
    const bytes = readBoundedFileSync(file, LARGEST_KEY_USAGE, NO_LINK);
    await remote.put(remoteUsage(replica, name), contentOf(bytes));
    sentMtimes.set(name, mtimeMs);
    return true;
  }

  return async () => {
    const faults: Error[] = [];
    let sent = 0;
    for (const name of namesIn(folder).filter(isKeyUsageFile)) {
      try {
        if (await sendFile(name)) sent++;
      } catch (error) {
        faults.push(error as Error);
      }
    }
    if (faults[0] !== undefined) throw faults[0];
    return sent;
  };
}
