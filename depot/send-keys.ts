/**
 * Sends the keys file to the private depot of replicas: first the content, under its SHA-256, then the
 * release that names it. Without a change, a new release only confirms from time to time that the keys still
 * agree with the database.
 */
import { hash, type KeyObject } from 'node:crypto';
import {
  encodeRelease,
  KEYS_PREFIX,
  makeRelease,
  parseRelease,
  RELEASES,
  storedKeys,
} from '../format/release.ts';
import type { WritableDepot } from './depot.ts';
import { readRelease } from './release.ts';
import { isSignedBy, publicKeyOf, signRelease } from './signing.ts';

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
  let sequence: number | undefined;
  let sent: { readonly sha256: string; readonly at: number } | undefined;

  /** The sequence in the depot; 0 if there is none, or it cannot be trusted. */
  async function readSequence(): Promise<number> {
    const stored = await readRelease(depot, 'keys');
    try {
      const release = parseRelease(stored?.bytes ?? '', 'keys');
      // Somebody who can write to the depot, but not sign, must not affect the sequence.
      const isTrusted = !signingKey || isSignedBy(release, [publicKeyOf(signingKey)]);
      return isTrusted ? release.sequence : 0;
    } catch {
      return 0;
    }
  }

  return async (content, readAt) => {
    const sha256 = hash('sha256', content);
    const isNew = sent?.sha256 !== sha256;
    // The clock may have been set back since.
    if (!isNew && Math.abs(readAt - (sent?.at ?? 0)) < CONFIRM_MS) return false;
    if (isNew) await depot.put(storedKeys(sha256), Buffer.from(content));
    // Grows also if the clock was set back.
    const next = Math.max(now(), (sequence ?? (await readSequence())) + 1);
    const released_at = new Date(readAt).toISOString();
    const release = makeRelease('keys', { sequence: next, sha256, released_at });
    const signed = signingKey === undefined ? release : signRelease(release, signingKey);
    await depot.put(RELEASES.keys, Buffer.from(encodeRelease(signed)));
    sequence = next;
    sent = { sha256, at: readAt };
    if (!isNew) return false;
    for (const { path, modifiedAt } of await depot.list(KEYS_PREFIX)) {
      if (path === RELEASES.keys || path === storedKeys(sha256)) continue;
      if (now() - modifiedAt.getTime() > KEPT_MS) await depot.remove(path);
    }
    return true;
  };
}
