/**
 * The state of the proxy that `/readyz` and the metrics show: what is in service, how old the data is,
 * whether an operator holds publishing, and how a replica is doing. Most comes from files in the snapshots
 * folder. A file that is missing or damaged never stops the service.
 */
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { GENERATIONS } from '../../../lib/format/layout.ts';
import type { FollowedPart, ReplicaState } from '../../../lib/format/replica-file.ts';
import { readHoldFile } from '../../../lib/generations/hold.ts';
import { readReplicaState, readStatus } from '../../../lib/generations/state-files.ts';
import type { KeyStore } from '../../admit/keys/key-store.ts';
import { LIMIT_COUNTS } from '../../admit/limits/redis-limiter.ts';
import type { Snapshots } from '../../snapshot/snapshots.ts';
import type { ProxyEnvironment, ThreadCounts } from '../workers/serving-thread.ts';

export interface StateParts {
  readonly environment: ProxyEnvironment;
  readonly snapshots: Snapshots;
  readonly keys: KeyStore;
  readonly maintenance: { readonly seconds: () => number };
  readonly threads: readonly ThreadCounts[];
  /** For each file that the proxy cannot read or write at the moment, a message that says why. */
  readonly faults: () => readonly string[];
}

/** The members of `/readyz`; null stands for what is not known or does not apply. */
export type ProxyState = {
  /**
   * A generation and the keys are in memory, and the proxy does not refuse all requests, because of maintenance
   * or because the limits store cannot be asked.
   */
  readonly ready: boolean;
  readonly maintenance: { readonly retry_after_seconds: number } | null;
  /** The id of the generation in service. */
  readonly snapshot: string | null;
  /** Since it last agreed with the database. */
  readonly snapshot_age_seconds: number | null;
  readonly refused: { readonly id: string; readonly error: string } | null;
  readonly held: HeldState | null;
  /** How many keys are known. */
  readonly keys: number | null;
  readonly keys_error: string | null;
  readonly keys_age_seconds: number | null;
  readonly replica: ReplicaHealth | null;
  /** How requests are decided now: by the limits store, or as LIMITS_FAILURE says. */
  readonly limits: { readonly mode: string; readonly error: string | null } | null;
  readonly faults: readonly string[];
};

/** That an operator holds publishing. If the hold file cannot be read, `error` says why; all else is null. */
interface HeldState {
  readonly id: string | null;
  readonly since: string | null;
  readonly reason: string | null;
  readonly error?: string;
}

/** How a part of a replica is doing. Ages are since it was last equal to its depot. */
interface PartHealth extends Pick<FollowedPart, 'from' | 'error' | 'refused'> {
  readonly age_seconds: number | null;
}

interface ReplicaHealth extends PartHealth, Pick<ReplicaState['snapshot'], 'published_at'> {
  /** Null if the replica gets no keys. */
  readonly keys: PartHealth | null;
}

export async function readState(parts: StateParts): Promise<ProxyState> {
  const { environment, snapshots, keys, threads, faults } = parts;
  const dir = environment.SNAPSHOTS_DIR;
  const snapshot = snapshots.current();
  const refused = snapshots.refusal();
  const replica = readReplicaState(dir);
  const retryAfter = parts.maintenance.seconds();
  const limits = limitsOf(environment, threads);
  const isServing = limits?.mode !== 'refuse' && retryAfter === 0;
  return {
    ready: snapshot !== undefined && keys.size() !== undefined && isServing,
    maintenance: retryAfter === 0 ? null : { retry_after_seconds: retryAfter },
    snapshot: snapshot?.id ?? null,
    snapshot_age_seconds:
      snapshot === undefined ? null : secondsSince(await readDataTime(dir, snapshot.id, replica)),
    refused: refused === undefined ? null : { id: refused.id, error: refused.error.message },
    held: readHeld(dir),
    keys: keys.size() ?? null,
    keys_error: keys.fault() ?? null,
    keys_age_seconds: secondsSince(keys.confirmedAt()),
    replica: replica === undefined ? null : healthOf(replica),
    limits,
    faults: faults(),
  };
}

function limitsOf(
  environment: ProxyEnvironment,
  threads: readonly ThreadCounts[],
): ProxyState['limits'] {
  if (environment.LIMITS_URL === undefined) return null;
  const isReady = threads.every(({ limits }) => limits[LIMIT_COUNTS.isReady] === 1);
  if (isReady) return { mode: 'shared', error: null };
  return {
    mode: environment.LIMITS_FAILURE,
    error: 'the server of LIMITS_URL cannot be asked; the log says why',
  };
}

/**
 * When a run of the generator last found that a generation agrees with the database, or a replica that
 * it agrees with the depot, in milliseconds of the wall clock. If neither is on record, the modification
 * time of the generation's folder.
 */
export async function readDataTime(
  snapshotsDir: string,
  id: string,
  replica: ReplicaState | undefined,
): Promise<number | undefined> {
  const status = readStatus(snapshotsDir);
  const agreed = status?.id === id ? status.current_as_of : null;
  const checked = replica?.snapshot.id === id ? replica.snapshot.current_as_of : null;
  const times = [agreed, checked].flatMap((time) => (time ? [Date.parse(time)] : []));
  if (times.length > 0) return Math.max(...times);
  try {
    return (await stat(path.join(snapshotsDir, GENERATIONS, id))).mtimeMs;
  } catch {
    // The folder of the generation in service was removed.
    return undefined;
  }
}

function healthOf({ snapshot, keys }: ReplicaState): ReplicaHealth {
  const { published_at } = snapshot;
  return { ...healthOfPart(snapshot), published_at, keys: keys && healthOfPart(keys) };
}

function healthOfPart({ from, current_as_of: time, error, refused }: FollowedPart): PartHealth {
  const age_seconds = secondsSince(time === null ? undefined : Date.parse(time));
  return { from, age_seconds, error, refused };
}

/** Whole seconds from a time of the wall clock until now; null if the time is not known. */
function secondsSince(time: number | undefined): number | null {
  return time === undefined ? null : Math.max(0, Math.round((Date.now() - time) / 1000));
}

function readHeld(snapshotsDir: string): HeldState | null {
  try {
    const hold = readHoldFile(snapshotsDir);
    return hold === undefined ? null : { id: hold.id, since: hold.since, reason: hold.reason };
  } catch (error) {
    return { id: null, since: null, reason: null, error: (error as Error).message };
  }
}
