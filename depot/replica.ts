/**
 * A replica: keeps a snapshots folder equal to a depot, and `keys.json` equal to the keys in a private depot;
 * and reports its state in `replica.json`. Whatever fails, the proxy keeps serving what is there.
 */
import type { Release, ReleaseKind } from '../lib/format/release.ts';
import type { ReplicaState } from '../lib/format/replica-file.ts';
import { currentId } from '../lib/generations/generations.ts';
import { readReplicaState, saveReplicaState } from '../lib/generations/state-files.ts';
import { type Depot, RefusedReleaseError } from './depot.ts';
import { makeKeysPuller } from './keys.ts';
import { Pull, type Pulled, type PullOptions } from './pull.ts';
import { pollRelease, type ReleasePollOptions } from './release.ts';
import { tryAgain } from './transfers.ts';

/** What a replica has found in its depot, and pulled; nothing pulled if it was current before. */
export interface PulledSnapshot {
  readonly release: Release;
  readonly pulled: Pulled | undefined;
}

export interface ReplicaOptions extends ReleasePollOptions {
  /** The name of the depot of snapshots. */
  readonly from: string;
  /** From {@link makeSnapshotPuller}, perhaps in another thread. */
  readonly pullSnapshot: () => Promise<PulledSnapshot>;
  /** The depot of keys; undefined if there is none. */
  readonly keysDepot: Depot | undefined;
}

/**
 * None of its functions may be called again before it has ended; different ones may run at the same time. They
 * throw RefusedReleaseError, HeldError, LockedError; or another Error, if the depot or the disk fails.
 */
export interface Replica {
  /** Makes the newest generation current. */
  checkSnapshot(): Promise<PulledSnapshot>;
  /** @returns whether the keys have changed */
  checkKeys(): Promise<boolean>;
}

const UNKNOWN = { current_as_of: null, error: null, refused: null };

/**
 * @returns a function that makes the newest generation of a depot current. It begins again if an object is gone, and
 * keeps the files that it has.
 */
export function makeSnapshotPuller(
  depot: Depot,
  options: PullOptions,
): ReplicaOptions['pullSnapshot'] {
  const nextRelease = pollRelease(depot, 'snapshot', options);
  const pull = new Pull(depot, options);
  /** The id of the generation that was found intact, or was pulled, by this process. */
  let settledId: string | undefined;

  async function pullSnapshot(): Promise<PulledSnapshot> {
    const release = await nextRelease();
    const { id } = release;
    const isSettled = settledId === id && currentId(options.snapshotsDir) === id;
    if (isSettled) return { release, pulled: undefined };
    const pulled = await pull.run(release);
    settledId = id;
    return { release, pulled };
  }

  return () => tryAgain('pull', pullSnapshot, options.clock);
}

export function makeReplica(options: ReplicaOptions): Replica {
  const { snapshotsDir, from, pullSnapshot, keysDepot, clock } = options;
  const before = readReplicaState(snapshotsDir);
  // What an earlier process found stays true, if it had the same depot.
  const snapshot = before?.snapshot.from === from ? before.snapshot : undefined;
  const keys = before?.keys?.from === keysDepot?.name ? before?.keys : undefined;
  let state: ReplicaState = {
    snapshot: snapshot ?? { from, id: null, published_at: null, ...UNKNOWN },
    keys: keysDepot ? (keys ?? { from: keysDepot.name, ...UNKNOWN }) : null,
  };

  function save(kind: ReleaseKind, changes: Partial<ReplicaState['snapshot']>): void {
    state = { ...state, [kind]: { ...state[kind], ...changes } };
    saveReplicaState(snapshotsDir, state);
  }

  /** Checks a part, and saves whether that found it equal to its depot. */
  async function check<T extends { readonly release: Release }>(
    kind: ReleaseKind,
    work: () => Promise<T>,
  ): Promise<T> {
    const now = () => new Date(clock.now()).toISOString();
    let result: T;
    try {
      result = await work();
    } catch (cause) {
      const { message: error } = cause as Error;
      const isRefused = cause instanceof RefusedReleaseError;
      save(kind, isRefused ? { error: null, refused: { at: now(), error } } : { error });
      throw cause;
    }
    const { id, released_at: published_at } = result.release;
    const found = kind === 'snapshot' ? { id, published_at } : {};
    save(kind, { ...found, ...UNKNOWN, current_as_of: now() });
    return result;
  }

  const pullKeys = keysDepot && makeKeysPuller(keysDepot, options);
  return {
    checkSnapshot: () => check('snapshot', pullSnapshot),
    checkKeys: async () => pullKeys !== undefined && (await check('keys', pullKeys)).isNew,
  };
}
