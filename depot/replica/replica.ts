/**
 * A replica: keeps a snapshots folder equal to a remote store, and `keys.json` equal to the key store, and
 * reports the state of both in `replica.json`. Whatever fails, the proxy keeps serving what is there.
 */
import type { FollowedPart, FollowState, ReplicaState } from '../../format/replica-file.ts';
import { LockedError } from '../../generations/lock.ts';
import { type Ending, saveStatus } from '../../generations/run-status.ts';
import { makeUsageSender } from '../keys/send-usage.ts';
import { endingOf } from '../pull/pull.ts';
import { PullRefusedError } from '../pull/source.ts';
import type { RemoteStore } from '../remote/remote.ts';
import { makeKeysFollower } from './follow-keys.ts';
import {
  type Followed,
  type FollowOptions,
  makeSnapshotFollower,
  WaitingError,
} from './follow-snapshot.ts';
import { readReplicaState, saveReplicaState } from './state-file.ts';

export interface ReplicaOptions extends FollowOptions {
  /** The key store, and the name under which key usage is sent; undefined if there is none. */
  readonly keys: { readonly store: RemoteStore; readonly name: string } | undefined;
}

/** None of these may be called again before it has ended; different ones may run at the same time. */
export interface Replica {
  /** @throws as `SnapshotFollower.check` */
  checkSnapshot(): Promise<Followed>;
  /** @returns whether the keys have changed. @throws PullRefusedError, or another Error */
  checkKeys(): Promise<boolean>;
  /** @returns how many files were sent. @throws Error if the store cannot be written */
  sendUsage(): Promise<number>;
}

export function makeReplica(options: ReplicaOptions): Replica {
  const { snapshotsDir, remote, keys, publicKeys, report, clock } = options;
  const follower = makeSnapshotFollower(options);
  const keysFollower = keys && makeKeysFollower(keys.store, snapshotsDir, publicKeys);
  const sendUsage = keys && makeUsageSender(keys.store, snapshotsDir, keys.name);
  const before = readReplicaState(snapshotsDir);
  let snapshot: ReplicaState['snapshot'] = {
    id: null,
    published_at: null,
    ...partFrom(remote, before?.snapshot),
  };
  let keysPart = keys === undefined ? null : partFrom(keys.store, before?.keys ?? undefined);
  let lastSaveFault = '';
  let lastStatus = '';

  const now = () => new Date(clock.now()).toISOString();

  function save(): void {
    try {
      saveReplicaState(snapshotsDir, { snapshot, keys: keysPart });
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
    if (text === lastStatus) return;
    saveStatus(snapshotsDir, ending);
    lastStatus = text;
  }

  async function checkSnapshot(): Promise<Followed> {
    try {
      const followed = await follower.check();
      const { id, published_at } = followed.pointer;
      snapshot = { ...snapshot, ...agreed(now()), id, published_at };
      saveEnding({ outcome: followed.pulled === undefined ? 'unchanged' : 'published', id });
      return followed;
    } catch (error) {
      snapshot = { ...snapshot, ...failed(snapshot, error as Error, now()) };
      // The run that holds the lock saves its own status.
      if (!(error instanceof LockedError)) saveEnding(endingOf(causeOf(error as Error)));
      throw error;
    } finally {
      save();
    }
  }

  async function checkKeys(): Promise<boolean> {
    if (keysFollower === undefined || keysPart === null) return false;
    try {
      const isNew = await keysFollower.check();
      keysPart = { ...keysPart, ...agreed(now()) };
      return isNew;
    } catch (error) {
      keysPart = { ...keysPart, ...failed(keysPart, error as Error, now()) };
      throw error;
    } finally {
      save();
    }
  }

  return { checkSnapshot, checkKeys, sendUsage: async () => (await sendUsage?.()) ?? 0 };
}

/** What an earlier process found stays true, if it had the same store. */
function partFrom<Part extends FollowedPart>(
  { name }: RemoteStore,
  before: Part | undefined,
): Part | FollowedPart {
  if (before?.from === name) return before;
  return { from: name, current_as_of: null, error: null, refused: null };
}

function agreed(at: string): FollowState {
  return { current_as_of: at, error: null, refused: null };
}

function failed(
  { refused }: FollowedPart,
  error: Error,
  at: string,
): Pick<FollowedPart, 'error' | 'refused'> {
  const cause = causeOf(error);
  if (!(cause instanceof PullRefusedError)) return { error: cause.message, refused };
  const isKnown = refused?.error === cause.message;
  return { error: null, refused: isKnown ? refused : { at, error: cause.message } };
}

/** The error of the pull, if a check has only waited to repeat it. */
function causeOf(error: Error): Error {
  return error instanceof WaitingError && error.cause instanceof Error ? error.cause : error;
}
