/**
 * A replica: keeps a snapshots folder equal to a depot, and `keys.json` equal to the keys in a private depot;
 * sends key usage back; and reports its state in `replica.json`. Whatever fails, the proxy keeps serving
 * what is there.
 */
import type { Release, ReleaseKind } from '../format/release.ts';
import type { FollowedPart, ReplicaState } from '../format/replica-file.ts';
import { makeKnownFiles } from '../generations/files/checked-files.ts';
import { currentId } from '../generations/generations.ts';
import { HeldError } from '../generations/hold.ts';
import { LockedError } from '../generations/lock.ts';
import { readReplicaState, saveReplicaState } from '../generations/state-files.ts';
import { type Depot, RefusedReleaseError, TransferError, type WritableDepot } from './depot.ts';
import { makeKeysFollower, makeUsageSender } from './keys.ts';
import { type Pulled, pull } from './pull.ts';
import { type FollowOptions, followRelease } from './release.ts';
import { tryAgain } from './transfers.ts';

export interface ReplicaOptions extends FollowOptions {
  readonly depot: Depot;
  /** The depot of keys and key usage; undefined if there is none. */
  readonly keysDepot: WritableDepot | undefined;
}

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;

export type Replica = ReturnType<typeof makeReplica>;

export function makeReplica(options: ReplicaOptions) {
  const { snapshotsDir, depot, keysDepot, clock } = options;
  const before = readReplicaState(snapshotsDir);
  let state: ReplicaState = {
    snapshot: { id: null, published_at: null, ...partFrom(depot, before?.snapshot) },
    keys: keysDepot ? partFrom(keysDepot, before?.keys) : null,
  };

  function save(kind: ReleaseKind, changes: Partial<ReplicaState['snapshot']>): void {
    state = { ...state, [kind]: { ...state[kind], ...changes } };
    saveReplicaState(snapshotsDir, state);
  }

  /** Checks a part, and saves whether that found it equal to its depot. */
  async function check<T extends { readonly release: Release }>(
    kind: ReleaseKind,
    follow: () => Promise<T>,
  ): Promise<T> {
    const now = () => new Date(clock.now()).toISOString();
    let result: T;
    try {
      result = await follow();
    } catch (cause) {
      const { message: error } = cause as Error;
      const before = state[kind]?.refused;
      const refused = before?.error === error ? before : { at: now(), error };
      save(kind, cause instanceof RefusedReleaseError ? { error: null, refused } : { error });
      throw cause;
    }
    const { id, released_at: published_at } = result.release;
    const found = kind === 'snapshot' ? { id, published_at } : {};
    save(kind, { ...found, current_as_of: now(), error: null, refused: null });
    return result;
  }

  const followSnapshot = makeSnapshotFollower(options);
  const followKeys = keysDepot && makeKeysFollower(keysDepot, options);
  // None of these may be called again before it has ended; different ones may run at the same time. They
  // throw RefusedReleaseError, HeldError, LockedError; or another Error, if the depot or the disk fails.
  return {
    /** Makes the newest generation current. @returns also its release; nothing pulled if it was before */
    checkSnapshot: () => check('snapshot', followSnapshot),
    /** @returns whether the keys have changed */
    checkKeys: async () => followKeys !== undefined && (await check('keys', followKeys)).isNew,
    /** Sends the reports of proxies that have changed. */
    sendUsage: keysDepot ? makeUsageSender(keysDepot, snapshotsDir) : async () => {},
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

function makeSnapshotFollower(options: ReplicaOptions) {
  const { depot, snapshotsDir, clock } = options;
  const nextRelease = followRelease(depot, 'snapshot', options);
  const isKnown = makeKnownFiles(clock.now);
  /** The id of the generation that was found intact, or was pulled, by this process. */
  let settledId: string | undefined;
  /** The release whose pull has failed, the error, and when and after how long it is tried again. */
  let failure: { release: Release; error: unknown; until: number; wait: number } | undefined;

  async function check(): Promise<{ release: Release; pulled: Pulled | undefined }> {
    const release = await nextRelease();
    const { id } = release;
    if (settledId === id && currentId(snapshotsDir) === id) return { release, pulled: undefined };
    if (failure?.release !== release) failure = undefined;
    const left = failure === undefined ? 0 : failure.until - clock.now();
    // More, if the clock was set back.
    if (left > 0 && left <= LONGEST_WAIT_MS) throw failure?.error;
    try {
      const pulled = await pull(depot, release, { ...options, isKnown });
      settledId = id;
      return { release, pulled };
    } catch (error) {
      // These have cost no transfer, or are tried again below.
      const isCheap = [HeldError, LockedError, TransferError].some((kind) => error instanceof kind);
      if (isCheap) throw error;
      const wait = Math.min(LONGEST_WAIT_MS, (failure?.wait ?? FIRST_WAIT_MS / 2) * 2);
      failure = { release, error, until: clock.now() + wait, wait };
      throw error;
    }
  }
  // It begins again if an object is gone, and keeps the files that it has.
  return () => tryAgain('pull', check, clock);
}
