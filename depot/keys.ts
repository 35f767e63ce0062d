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
import { pollRelease, type ReleasePollOptions, readReplaced, writeRelease } from './release.ts';
import { readObject } from './transfers.ts';

/** How often keys that have not changed are confirmed to agree with the database, by a new release. */
const CONFIRM_MS = 10_000;
/** A replica may still be reading an old content for this long. */
const KEPT_MS = 10 * 60_000;

/** The content of `keys.json`, for replicas. */
export interface SentKeys {
  readonly content: string;
  /** When it last agreed with the database, in milliseconds since 1970. */
  readonly readAt: number;
  /** Whether it was found on disk while the database could not be read: then the depot may have newer keys. */
  readonly isStored: boolean;
}

/**
 * @param now a clock in milliseconds since 1970
 * @param warn is told if old keys cannot be removed, for which nobody waits
 * @returns a function that sends keys, if they have changed or must be confirmed. It returns whether they had
 * changed, and must not be called again before it has ended.
 */
export function makeKeysSender(
  depot: WritableDepot,
  signingKey: KeyObject | undefined,
  now: () => number,
  warn: (text: string) => void,
): (keys: SentKeys) => Promise<boolean> {
  let sent: { readonly sha256: string; readonly at: number; readonly sequence: number } | undefined;
  let isTidying = false;

  async function tidy(current: string): Promise<void> {
    for (const { path: name, modifiedAt } of await depot.list(KEYS_PREFIX)) {
      if (name === RELEASES.keys || name === storedKeys(current)) continue;
      if (now() - modifiedAt > KEPT_MS) await depot.remove(name);
    }
  }

  /** The next keys do not wait for a list that may be long. */
  function startToTidy(current: string): void {
    if (isTidying) return;
    isTidying = true;
    void tidy(current)
      .catch(({ message }) => warn(`old keys were not removed from ${depot.name}: ${message}`))
      .finally(() => {
        isTidying = false;
      });
  }

  return async ({ content, readAt, isStored }) => {
    const sha256 = hash('sha256', content);
    const isNew = sent?.sha256 !== sha256;
    // The clock may have been set back since.
    if (!isNew && Math.abs(readAt - (sent?.at ?? 0)) < CONFIRM_MS) return false;
    const released = sent ? undefined : await readReplaced(depot, 'keys', signingKey);
    const before = sent ?? released;
    // A revoked key must not come back.
    if (isStored && Date.parse(released?.released_at ?? '') >= readAt) return false;
    if (isNew) await depot.put(storedKeys(sha256), Buffer.from(content));
    // Grows also if the clock was set back.
    const sequence = Math.max(now(), (before?.sequence ?? 0) + 1);
    const released_at = new Date(readAt).toISOString();
    await writeRelease(depot, 'keys', { sequence, sha256, released_at }, signingKey);
    sent = { sha256, at: readAt, sequence };
    if (isNew) startToTidy(sha256);
    return isNew;
  };
}

/**
 * @returns a function that keeps `keys.json` equal to the released keys, and returns whether they are new.
 * The modification time of the file is when they last agreed with the database, by the clock of the sender.
 */
export function makeKeysPuller(depot: Depot, options: ReleasePollOptions) {
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
