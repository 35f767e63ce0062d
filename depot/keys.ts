/**
 * Keys on their way to replicas, through a private depot. The keys file travels like a generation: first the
 * content, under its SHA-256, then the release that names it.
 */
import { hash, type KeyObject } from 'node:crypto';
import { utimesSync } from 'node:fs';
import path from 'node:path';
import { LARGEST_KEYS_FILE, parseKeys } from '../lib/format/keys-file.ts';
import { KEYS_FILE } from '../lib/format/layout.ts';
import { KEYS_PREFIX, RELEASES, type Release, storedKeys } from '../lib/format/release.ts';
import { keepReserve, replaceWithReserve } from '../lib/generations/files/reserve.ts';
import { tryToRead } from '../lib/program/files/bounded-file.ts';
import { type Depot, orRefuse, type WritableDepot } from './depot.ts';
import { type PollOptions, pollRelease, readReplaced, writeRelease } from './release.ts';
import { readObject } from './transfers.ts';

/** How often keys that have not changed are confirmed to agree with the database, by a new release. */
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
    for (const { path: name, modifiedAt } of await depot.list(KEYS_PREFIX)) {
      if (name === RELEASES.keys || name === storedKeys(sha256)) continue;
      if (now() - modifiedAt > KEPT_MS) await depot.remove(name);
    }
    return true;
  };
}

/** The replicas of a private depot, for those who export keys. */
export function openReplicas(depot: WritableDepot, signingKey: KeyObject | undefined) {
  return {
    name: depot.name,
    send: makeKeysSender(depot, signingKey, Date.now),
    close: () => depot.close(),
  };
}

/**
 * @returns a function that keeps `keys.json` equal to the released keys, and returns whether they are new.
 * The modification time of the file is when they last agreed with the database, by the clock of the sender.
 */
export function makeKeysPuller(depot: Depot, options: PollOptions) {
  const nextRelease = pollRelease(depot, 'keys', options);
  const file = path.join(options.snapshotsDir, KEYS_FILE);
  let settled: Release | undefined;

  async function fetchKeys({ sha256 }: Release): Promise<string> {
    const name = storedKeys(sha256);
    const bytes = (await readObject(depot, name, LARGEST_KEYS_FILE, options.clock)) ?? '';
    return orRefuse(`${name} at ${depot.name}`, () => {
      if (hash('sha256', bytes) !== sha256)
        throw new Error('it is missing, or has another SHA-256');
      const text = String(bytes);
      parseKeys(text);
      return text;
    });
  }

  return async () => {
    const release = await nextRelease();
    if (release === settled) return { release, isNew: false };
    const known = tryToRead(file, LARGEST_KEYS_FILE, (text) => hash('sha256', text));
    const isNew = known !== release.sha256;
    if (isNew) replaceWithReserve(file, await fetchKeys(release));
    else keepReserve(options.snapshotsDir);
    const confirmedAt = new Date(release.released_at ?? 0);
    utimesSync(file, confirmedAt, confirmedAt);
    settled = release;
    return { release, isNew };
  };
}
