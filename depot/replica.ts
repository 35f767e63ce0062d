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
import { type Ending, saveStatus } from '../generations/run-status.ts';
import { NO_LINK, readBoundedFileSync } from '../program/files/bounded-file.ts';
import { type Depot, GoneError, RefusedReleaseError, type WritableDepot } from './depot.ts';
import { type Pulled, pull, type TransferReport } from './pull.ts';
import { type FollowOptions, followRelease } from './release.ts';
import { readReplicaState, saveReplicaState } from './replica-files.ts';
import { readObject } from './transfers.ts';

export interface ReplicaOptions extends FollowOptions {
  readonly depot: Depot;
  /** The depot of keys and key usage; undefined if there is none. */
  readonly keysDepot: WritableDepot | undefined;
  readonly report: TransferReport;
  /** As in a pull. */
  readonly parallel?: number;
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
  const { snapshotsDir, depot, keysDepot, report, clock } = options;
  const before = readReplicaState(snapshotsDir);
  const state: { -readonly [Part in keyof ReplicaState]: ReplicaState[Part] } = {
    snapshot: { id: null, published_at: null, ...partFrom(depot, before?.snapshot) },
    keys: keysDepot ? partFrom(keysDepot, before?.keys ?? undefined) : null,
  };
  let lastSaveFault = '';
  let lastEnding = '';

  function save(): void {
    try {
      saveReplicaState(snapshotsDir, state);
      lastSaveFault = '';
    } catch (error) {
      const { message } = error as Error;
      if (message !== lastSaveFault) report.warn(`Its state is not up to date: ${message}`);
      lastSaveFault = message;
    }
  }

  /** Saves how a check ended, unless the one before ended in the same way. */
  function saveEnding(ending: Ending): void {
    const text = JSON.stringify(ending);
    if (text !== lastEnding) saveStatus(snapshotsDir, ending);
    lastEnding = text;
  }

  const now = () => new Date(clock.now()).toISOString();
  const agreed = () => ({ current_as_of: now(), error: null, refused: null });
  const followSnapshot = makeSnapshotFollower(options);
  const followKeys = keysDepot && makeKeysFollower(keysDepot, options);
  const sendUsage = keysDepot && makeUsageSender(keysDepot, snapshotsDir);

  return {
    async checkSnapshot() {
      try {
        const { release, pulled } = await followSnapshot();
        const { id, released_at: published_at } = release;
        state.snapshot = { ...state.snapshot, ...agreed(), id, published_at };
        saveEnding({ outcome: pulled === undefined ? 'unchanged' : 'published', id });
        return { release, pulled };
      } catch (error) {
        state.snapshot = { ...state.snapshot, ...failed(state.snapshot, error as Error, now()) };
        // The run that holds the lock saves its own status.
        if (!(error instanceof LockedError)) saveEnding(endingOf(error as Error));
        throw error;
      } finally {
        save();
      }
    },
    async checkKeys() {
      if (followKeys === undefined || state.keys === null) return false;
      try {
        const isNew = await followKeys();
        state.keys = { ...state.keys, ...agreed() };
        return isNew;
      } catch (error) {
        state.keys = { ...state.keys, ...failed(state.keys, error as Error, now()) };
        throw error;
      } finally {
        save();
      }
    },
    sendUsage: async () => sendUsage?.(),
  };
}

/** What an earlier process found stays true, if it had the same depot. */
function partFrom<Part extends FollowedPart>(
  { name }: Depot,
  before: Part | undefined,
): Part | FollowedPart {
  if (before?.from === name) return before;
  return { from: name, current_as_of: null, error: null, refused: null };
}

function failed({ refused }: FollowedPart, error: Error, at: string) {
  const { message } = error;
  if (!(error instanceof RefusedReleaseError)) return { error: message, refused };
  return { error: null, refused: refused?.error === message ? refused : { at, error: message } };
}

function endingOf(error: Error): Ending {
  const isRefused = error instanceof RefusedReleaseError;
  const outcome = error instanceof HeldError ? 'held' : isRefused ? 'refused' : 'failed';
  return { outcome, error: error.message };
}

function makeSnapshotFollower(options: ReplicaOptions): Replica['checkSnapshot'] {
  const { depot, snapshotsDir, report, clock, parallel } = options;
  const nextRelease = followRelease(depot, 'snapshot', options);
  const known = makeKnownFiles(clock.now);
  /** The id of the generation that was found intact, or was pulled, by this process. */
  let settledId: string | undefined;
  /** The error of the last pull, how often its release has failed, and when to try again. */
  let failure: { release: Release; error: Error; times: number; until: number } | undefined;

  async function pullOnce(release: Release) {
    if (settledId === release.id && currentId(snapshotsDir) === release.id) return undefined;
    const last = failure?.release === release ? failure : undefined;
    if (last !== undefined && clock.now() < last.until) throw last.error;
    try {
      const pulled = await pull(depot, release, { snapshotsDir, known, report, clock, parallel });
      settledId = release.id;
      return pulled;
    } catch (error) {
      // A hold or a run can end at any moment, and has cost no transfer. A gone object has its own restarts.
      if (error instanceof HeldError || error instanceof LockedError) throw error;
      const times = (last?.times ?? 0) + 1;
      const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (times - 1));
      const isGone = error instanceof GoneError;
      failure = { release, error: error as Error, times, until: clock.now() + (isGone ? 0 : wait) };
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
    const fault = hash('sha256', bytes) === sha256 ? faultOf(bytes) : 'it has another SHA-256';
    if (fault === undefined) return bytes.toString('utf8');
    throw new RefusedReleaseError(
      `${name} at ${depot.name} is refused: ${fault}. The known keys stay.`,
    );
  }

  return async () => {
    const release = await nextRelease();
    if (release === settled) return false;
    const isNew = hashOf(file) !== release.sha256;
    if (isNew) replaceFile(file, await fetchKeys(release));
    const confirmedAt = new Date(release.released_at ?? 0);
    utimesSync(file, confirmedAt, confirmedAt);
    settled = release;
    return isNew;
  };
}

function faultOf(keys: Buffer): string | undefined {
  try {
    parseKeys(keys.toString('utf8'));
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** The SHA-256 of a file; undefined if it cannot be read. */
function hashOf(file: string): string | undefined {
  try {
    return hash('sha256', readBoundedFileSync(file, LARGEST_KEYS_FILE));
  } catch {
    return undefined;
  }
}

function makeUsageSender(depot: WritableDepot, snapshotsDir: string): () => Promise<void> {
  const folder = path.join(snapshotsDir, PROXY_FOLDER);
  const name = replicaName(snapshotsDir);
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

/** The name under which a replica sends key usage. Several on one machine have different folders. */
function replicaName(snapshotsDir: string): string {
  const host = hostname().replaceAll(/[^A-Za-z0-9_-]/g, '-');
  return `${host.slice(0, 60)}-${hash('sha256', path.resolve(snapshotsDir)).slice(0, 8)}`;
}
