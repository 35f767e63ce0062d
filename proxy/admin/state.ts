/**
 * The state of the proxy that `/readyz` and the metrics show: what is in service, how old the data is,
 * whether an operator holds publishing, and how a replica is doing. Most comes from files in the snapshots
 * folder. A file that is missing or damaged never stops the service.
 */
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { readReplicaState } from '../../depot/replica-files.ts';
import { GENERATIONS } from '../../format/layout.ts';
import type { Manifest } from '../../format/manifest.ts';
import type { FollowedPart, ReplicaState } from '../../format/replica-file.ts';
import { readHoldFile } from '../../generations/hold.ts';
import { readStatus } from '../../generations/run-status.ts';
import type { KeyStore } from '../keys/key-store.ts';
import type { Snapshots } from '../snapshot/snapshots.ts';

/** A value that is not known (yet) is undefined. */
export interface ProxyState {
  /** The manifest of the generation in service. */
  readonly snapshot: Manifest | undefined;
  readonly refused: ReturnType<Snapshots['refusal']>;
  /** Null unless an operator holds publishing. */
  readonly held: ReturnType<typeof readHeld>;
  /** Seconds since the generation in service last agreed with the database. */
  readonly dataAge: number | undefined;
  /** How many keys are known. */
  readonly keys: number | undefined;
  /** Seconds since the keys last agreed with the database. */
  readonly keysAge: number | undefined;
  /** Null if there is no replica in this snapshots folder. */
  readonly replica: ReplicaHealth | null;
  /** The seconds for `Retry-After` during maintenance, otherwise 0. */
  readonly maintenanceSeconds: number;
}

export interface StateParts {
  readonly snapshotsDir: string;
  readonly snapshots: Snapshots;
  readonly keys: KeyStore;
  /** The seconds for `Retry-After` during maintenance, otherwise 0. */
  readonly maintenance: () => number;
}

export async function readState(parts: StateParts): Promise<ProxyState> {
  const { snapshotsDir, snapshots, keys } = parts;
  const snapshot = snapshots.current();
  const replica = readReplicaState(snapshotsDir);
  const dataTime = snapshot && (await readDataTime(snapshotsDir, snapshot.id, replica));
  return {
    snapshot,
    refused: snapshots.refusal(),
    held: readHeld(snapshotsDir),
    dataAge: secondsSince(dataTime),
    keys: keys.size(),
    keysAge: secondsSince(keys.confirmedAt()),
    replica: healthOf(replica),
    maintenanceSeconds: parts.maintenance(),
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

/** How a replica is doing; each age is in seconds, or null if it is not known. */
export interface ReplicaHealth {
  readonly from: string;
  /** Since the snapshot was last found equal to the depot's. */
  readonly age_seconds: number | null;
  readonly published_at: string | null;
  readonly error: string | null;
  readonly refused: FollowedPart['refused'];
  /** Null if the replica gets no keys. */
  readonly keys: Omit<ReplicaHealth, 'keys' | 'published_at'> | null;
}

/** @returns null if there is no replica in this folder */
function healthOf(state: ReplicaState | undefined): ReplicaHealth | null {
  if (state === undefined) return null;
  const { snapshot, keys } = state;
  const { from, age_seconds, error, refused } = healthOfPart(snapshot);
  const { published_at } = snapshot;
  return { from, age_seconds, published_at, error, refused, keys: keys && healthOfPart(keys) };
}

function healthOfPart({ from, current_as_of: time, error, refused }: FollowedPart) {
  const age_seconds = time === null ? null : (secondsSince(Date.parse(time)) ?? null);
  return { from, age_seconds, error, refused };
}

/** Whole seconds from a time of the wall clock until now. */
function secondsSince(time: number | undefined): number | undefined {
  return time === undefined ? undefined : Math.max(0, Math.round((Date.now() - time) / 1000));
}

/** If the hold file cannot be read, `error` says why; all else is null. */
function readHeld(snapshotsDir: string) {
  try {
    const hold = readHoldFile(snapshotsDir);
    return hold === undefined ? null : { id: hold.id, since: hold.since, reason: hold.reason };
  } catch (error) {
    return { id: null, since: null, reason: null, error: (error as Error).message };
  }
}
