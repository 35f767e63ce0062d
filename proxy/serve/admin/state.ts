/**
 * The state of the proxy that `/readyz` and the metrics show: what is in service, how old the data is,
 * whether an operator holds publishing, and how a replica is doing. Most comes from files in the snapshots
 * folder. A file that is missing or damaged never stops the service.
 */
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { GENERATIONS } from '../../../lib/format/layout.ts';
import type { ReplicaPart, ReplicaState } from '../../../lib/format/replica-file.ts';
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
  /** Why `keys.json` cannot be read at the moment. */
  readonly keysFault: () => string | undefined;
  readonly maintenance: { readonly seconds: () => number };
  readonly threads: readonly ThreadCounts[];
  /** For each file that the proxy cannot read or write at the moment, a message that says why. */
  readonly faults: () => readonly string[];
}

/** The members of `/readyz`; null stands for what is not known or does not apply. */
export type ProxyState = Awaited<ReturnType<typeof readState>>;

export async function readState(parts: StateParts) {
  const { environment, snapshots, keys, faults } = parts;
  const dir = environment.SNAPSHOTS_DIR;
  const snapshot = snapshots.current();
  const refused = snapshots.refusal();
  const replica = readReplicaState(dir);
  const retryAfter = parts.maintenance.seconds();
  const limits = limitsOf(parts);
  const isServing = limits?.mode !== 'refuse' && retryAfter === 0;
  return {
    /**
     * A generation and the keys are in memory, and the proxy does not refuse all requests, because of
     * maintenance or because the limits store cannot be reached.
     */
    ready: snapshot !== undefined && keys.size() !== undefined && isServing,
    maintenance: retryAfter === 0 ? null : { retry_after_seconds: retryAfter },
    /** The id of the generation in service. */
    snapshot: snapshot?.id ?? null,
    /** Since it last agreed with the database. */
    snapshot_age_seconds: snapshot
      ? secondsSince(await readDataTime(dir, snapshot.id, replica))
      : null,
    refused: refused ? { id: refused.id, error: refused.error.message } : null,
    held: readHeld(dir),
    /** How many keys are known. */
    keys: keys.size() ?? null,
    keys_error: parts.keysFault() ?? null,
    keys_age_seconds: secondsSince(keys.confirmedAt()),
    replica: replica ? healthOf(replica) : null,
    limits,
    faults: faults(),
  };
}

/** How requests are decided now: by the limits store, or as LIMITS_FAILURE says. */
function limitsOf({ environment, threads }: StateParts) {
  if (environment.LIMITS_URL === undefined) return null;
  const isReady = threads.every(({ limits }) => limits[LIMIT_COUNTS.isReady] === 1);
  if (isReady) return { mode: 'shared', error: null };
  return {
    mode: environment.LIMITS_FAILURE,
    error: 'the server of LIMITS_URL cannot be reached; the log says why',
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

function healthOf({ snapshot, keys }: ReplicaState) {
  const { published_at } = snapshot;
  return { ...healthOfPart(snapshot), published_at, keys: keys && healthOfPart(keys) };
}

/** How a part of a replica is doing. Its age is since it was last equal to its depot. */
function healthOfPart({ from, current_as_of: time, error, refused }: ReplicaPart) {
  const age_seconds = secondsSince(time === null ? undefined : Date.parse(time));
  return { from, age_seconds, error, refused };
}

/** Whole seconds from a time of the wall clock until now; null if the time is not known. */
function secondsSince(time: number | undefined): number | null {
  return time === undefined ? null : Math.max(0, Math.round((Date.now() - time) / 1000));
}

/** That an operator holds publishing. If the hold file cannot be read, `error` says why; all else is null. */
function readHeld(snapshotsDir: string) {
  try {
    const hold = readHoldFile(snapshotsDir);
    return hold ? { id: hold.id, since: hold.since, reason: hold.reason } : null;
  } catch (error) {
    return { id: null, since: null, reason: null, error: (error as Error).message };
  }
}
