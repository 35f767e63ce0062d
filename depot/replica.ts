/**
 * A replica: keeps a snapshots folder equal to a depot, and `keys.json` equal to the keys in a private depot;
 * sends key usage back; and reports its state in `replica.json`. Whatever fails, the proxy keeps serving
 * what is there.
 */
import { hash } from 'node:crypto';
import { lstatSync, utimesSync } from 'node:fs';
import { hostname } from 'node:os';
import path from 'node:path';
import { LARGEST_KEY_USAGE } from '../format/key-usage.ts';
import { LARGEST_KEYS_FILE, parseKeys } from '../format/keys-file.ts';
import { isKeyUsageFile, KEYS_FILE, PROXY_FOLDER } from '../format/layout.ts';
import { type Release, storedKeys, storedUsage } from '../format/release.ts';
import type { FollowedPart, ReplicaState } from '../format/replica-file.ts';
import { makeKnownFiles } from '../generations/files/checked-files.ts';
import { replaceFile } from '../generations/files/replace-file.ts';
import { currentId, namesIn } from '../generations/generations.ts';
import { HeldError } from '../generations/hold.ts';
import { LockedError } from '../generations/lock.ts';
import { NO_LINK, readBoundedFileSync } from '../program/files/bounded-file.ts';
import { type Depot, GoneError, RefusedReleaseError, type WritableDepot } from './depot.ts';
import { type Pulled, type PullOptions, pull } from './pull.ts';
import { type FollowOptions, followRelease } from './release.ts';
import { readReplicaState, saveReplicaState } from './replica-files.ts';
import { readObject } from './transfers.ts';

export interface ReplicaOptions extends FollowOptions, Omit<PullOptions, 'isKnown'> {
  readonly depot: Depot;
  /** The depot of keys and key usage; undefined if there is none. */
  readonly keysDepot: WritableDepot | undefined;
}

/** None of these may be called again before it has ended; different ones may run at the same time. */
export interface Replica {
  /**
   * Makes the newest generation current.
   * @returns its release, and what was pulled; undefined if it was current before
   * @throws RefusedReleaseError, HeldError, LockedError; or another Error, if the depot or the disk fails
   */
  checkSnapshot(): Promise<{ readonly release: Release; readonly pulled: Pulled | undefined }>;
  /** @returns whether the keys have changed. @throws RefusedReleaseError, or another Error */
  checkKeys(): Promise<boolean>;
  /** Sends the reports of proxies that have changed. @throws the first Error, after all were tried */
  sendUsage(): Promise<void>;
}

/** How often a check begins its pull again because an object is gone. It keeps the files that it has. */
const MOST_RESTARTS = 10;
/** Several servers of one API may change to a newer generation one after another. */
const RESTART_MS = 200;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;

export function makeReplica(options: ReplicaOptions): Replica {
  const { snapshotsDir, depot, keysDepot, clock } = options;
  const before = readReplicaState(snapshotsDir);
  let state: ReplicaState = {
    snapshot: { id: null, published_at: null, ...partFrom(depot, before?.snapshot) },
    keys: keysDepot ? partFrom(keysDepot, before?.keys) : null,
  };

  /** Does the work of a check, and saves whether it found the part equal to its depot. */
  async function check<T>(
    name: 'snapshot' | 'keys',
    work: () => Promise<T>,
    found: (result: T) => Partial<ReplicaState['snapshot']>,
  ): Promise<T> {
    const now = () => new Date(clock.now()).toISOString();
    const save = (changes: Partial<ReplicaState['snapshot']>) => {
      state = { ...state, [name]: { ...state[name], ...changes } };
      saveReplicaState(snapshotsDir, state);
    };
    let result: T;
    try {
      result = await work();
    } catch (error) {
      const { message } = error as Error;
      const refused = state[name]?.refused;
      if (!(error instanceof RefusedReleaseError)) save({ error: message });
      else if (refused?.error === message) save({ error: null });
      else save({ error: null, refused: { at: now(), error: message } });
      throw error;
    }
    save({ ...found(result), current_as_of: now(), error: null, refused: null });
    return result;
  }

  const followSnapshot = makeSnapshotFollower(options);
  const followKeys = keysDepot && makeKeysFollower(keysDepot, options);
  const sendUsage = keysDepot && makeUsageSender(keysDepot, snapshotsDir);

  return {
    checkSnapshot: () =>
      check('snapshot', followSnapshot, ({ release: { id, released_at } }) => ({
        id,
        published_at: released_at,
      })),
    checkKeys: async () => followKeys !== undefined && check('keys', followKeys, () => ({})),
    sendUsage: async () => sendUsage?.(),
  };
}

/** What an earlier process found stays true, if it had the same depot. */
function partFrom<Part extends FollowedPart>(
  { name }: Depot,
  before: Part | null | undefined,
): Part | FollowedPart {
  if (before?.from === name) return before;
  return { from: name, current_as_of: null, error: null, refused: null };
}

function makeSnapshotFollower(options: ReplicaOptions): Replica['checkSnapshot'] {
  const { depot, snapshotsDir, report, clock } = options;
  const nextRelease = followRelease(depot, 'snapshot', options);
  const isKnown = makeKnownFiles(clock.now);
  /** The id of the generation that was found intact, or was pulled, by this process. */
  let settledId: string | undefined;
  /** The release whose pull has failed, how often, the last error, and when to try again. */
  let failure: { release: Release; times: number; error: unknown; until: number } | undefined;

  /** Pulls a release, unless its last pull has failed a short time ago. */
  async function pullOnce(release: Release): Promise<Pulled | undefined> {
    if (settledId === release.id && currentId(snapshotsDir) === release.id) return undefined;
    if (failure?.release !== release) failure = undefined;
    else {
      const left = failure.until - clock.now();
      // More, if the clock was set back.
      if (left > 0 && left <= LONGEST_WAIT_MS) throw failure.error;
    }
    try {
      const pulled = await pull(depot, release, { ...options, isKnown });
      settledId = release.id;
      return pulled;
    } catch (error) {
      // These have cost no transfer, or have restarts of their own.
      const isCheap = [HeldError, LockedError, GoneError].some((kind) => error instanceof kind);
      if (isCheap) throw error;
      const times = (failure?.times ?? 0) + 1;
      const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (times - 1));
      failure = { release, times, error, until: clock.now() + wait };
      throw error;
    }
  }

  return async () => {
    for (let restarts = 0; ; restarts++) {
      const release = await nextRelease();
      try {
        return { release, pulled: await pullOnce(release) };
      } catch (error) {
        if (!(error instanceof GoneError) || restarts === MOST_RESTARTS) throw error;
        report.step(`${error.message} Reading the release again`);
        await clock.pause(RESTART_MS);
      }
    }
  };
}

/**
 * Keeps `keys.json` equal to the released keys. Its modification time is when they last agreed with the
 * database, by the clock of the sender.
 */
function makeKeysFollower(depot: Depot, options: ReplicaOptions): () => Promise<boolean> {
  const nextRelease = followRelease(depot, 'keys', options);
  const file = path.join(options.snapshotsDir, KEYS_FILE);
  let settled: Release | undefined;

  async function fetchKeys({ sha256 }: Release): Promise<string> {
    const name = storedKeys(sha256);
    const bytes = await readObject(depot, name, LARGEST_KEYS_FILE, options.clock);
    if (bytes === undefined) throw new Error(`${depot.name} does not have ${name}.`);
    try {
      if (hash('sha256', bytes) !== sha256) throw new Error('it has another SHA-256');
      parseKeys(bytes.toString('utf8'));
      return bytes.toString('utf8');
    } catch (cause) {
      throw new RefusedReleaseError(
        `${name} at ${depot.name} is refused: ${(cause as Error).message}. The known keys stay.`,
        { cause },
      );
    }
  }

  function hasKeys({ sha256 }: Release): boolean {
    try {
      return hash('sha256', readBoundedFileSync(file, LARGEST_KEYS_FILE)) === sha256;
    } catch {
      return false;
    }
  }

  return async () => {
    const release = await nextRelease();
    if (release === settled) return false;
    const isNew = !hasKeys(release);
    if (isNew) replaceFile(file, await fetchKeys(release));
    const confirmedAt = new Date(release.released_at ?? 0);
    utimesSync(file, confirmedAt, confirmedAt);
    settled = release;
    return isNew;
  };
}

function makeUsageSender(depot: WritableDepot, snapshotsDir: string): () => Promise<void> {
  const folder = path.join(snapshotsDir, PROXY_FOLDER);
  // Several replicas on one machine have different folders.
  const host = hostname().replaceAll(/[^A-Za-z0-9_-]/g, '-');
  const name = `${host.slice(0, 60)}-${hash('sha256', path.resolve(snapshotsDir)).slice(0, 8)}`;
  const sentMtimes = new Map<string, number>();

  async function send(report: string): Promise<void> {
    const file = path.join(folder, report);
    const mtimeMs = lstatSync(file, { throwIfNoEntry: false })?.mtimeMs;
    if (mtimeMs === undefined || mtimeMs === sentMtimes.get(report)) return;
    // Links are refused: the proxy may run as a user with fewer rights, and could link to any file.
    const bytes = readBoundedFileSync(file, LARGEST_KEY_USAGE, NO_LINK);
    await depot.put(storedUsage(name, report), bytes);
    sentMtimes.set(report, mtimeMs);
  }

  return async () => {
    const sent = await Promise.allSettled(namesIn(folder).filter(isKeyUsageFile).map(send));
    for (const each of sent) if (each.status === 'rejected') throw each.reason;
  };
}
