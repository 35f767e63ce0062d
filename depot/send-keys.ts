/**
 * Sends the keys file to the private depot of replicas: first the content, under its SHA-256, then the
 * release that names it. Without a change, a new release only confirms from time to time that the keys still
 * agree with the database.
 */
import { hash, type KeyObject } from 'node:crypto';
import { KEYS_PREFIX, RELEASES, storedKeys } from '../format/release.ts';
import type { WritableDepot } from './depot.ts';
import { readReplaced, writeRelease } from './release.ts';

/** How often keys that have not changed are confirmed. */
const CONFIRM_MS = 10_000;
/** A replica may still be reading an old content for this long. */
const KEPT_MS = 10 * 60_000;

/**
 * @param now a clock in milliseconds since 1970
 * @returns a function that sends keys that were read from the database at a time, if they have changed or
 * must be confirmed. It returns whether they had changed, and must not be called again before it has ended.
 */
export function makeKeysSender(
  depot: WritableDepot,
  signingKey: KeyObject | undefined,
  now: () => number,
): (content: string, readAt: number) => Promise<boolean> {
  let sent: { readonly sha256: string; readonly at: number; readonly sequence: number } | undefined;

  return async (content, readAt) => {
    const sha256 = hash('sha256', content);
    const isNew = sent?.sha256 !== sha256;
    // The clock may have been set back since.
    if (!isNew && Math.abs(readAt - (sent?.at ?? 0)) < CONFIRM_MS) return false;
    if (isNew) await depot.put(storedKeys(sha256), Buffer.from(content));
    const before = sent ?? (await readReplaced(depot, 'keys', signingKey));
    // Grows also if the clock was set back.
    const sequence = Math.max(now(), (before?.sequence ?? 0) + 1);
    const released_at = new Date(readAt).toISOString();
    await writeRelease(depot, 'keys', { sequence, sha256, released_at }, signingKey);
    sent = { sha256, at: readAt, sequence };
    if (!isNew) return false;
    for (const { path, modifiedAt } of await depot.list(KEYS_PREFIX)) {
      if (path === RELEASES.keys || path === storedKeys(sha256)) continue;
      if (now() - modifiedAt > KEPT_MS) await depot.remove(path);
    }
    return true;
  };
}
