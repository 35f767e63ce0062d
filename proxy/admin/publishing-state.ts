/**
 * Finds out how old the data in service is, whether an operator holds publishing, and how a replica is
 * doing. All come from files in the snapshots folder. A file that is missing or damaged never stops the
 * service.
 */
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { GENERATIONS } from '../../format/layout.ts';
import type { FollowedPart, ReplicaState } from '../../format/replica-file.ts';
import { readHoldFile } from '../../generations/hold.ts';
import { readStatus } from '../../generations/run-status.ts';

/** An operator holds publishing. If the hold file cannot be read, `error` says why; all else is null. */
export interface Held {
  readonly id: string | null;
  readonly since: string | null;
  readonly reason: string | null;
  readonly error?: string;
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
export function healthOf(state: ReplicaState | undefined): ReplicaHealth | null {
  if (state === undefined) return null;
  const { snapshot, keys } = state;
  const { from, age_seconds, error, refused } = healthOfPart(snapshot);
  return {
    from,
    age_seconds,
    published_at: snapshot.published_at,
    error,
    refused,
    keys: keys && healthOfPart(keys),
  };
}

function healthOfPart({ from, current_as_of: time, error, refused }: FollowedPart) {
  const age_seconds = time === null ? null : secondsSince(Date.parse(time));
  return { from, age_seconds, error, refused };
}

/** Whole seconds from a time of the wall clock until now. */
export function secondsSince(time: number): number {
  return Math.max(0, Math.round((Date.now() - time) / 1000));
}

/** @returns undefined when publishing is not held */
export async function readHeld(snapshotsDir: string): Promise<Held | undefined> {
  try {
    const hold = readHoldFile(snapshotsDir);
    return hold && { id: hold.id, since: hold.since, reason: hold.reason };
  } catch (error) {
    return { id: null, since: null, reason: null, error: (error as Error).message };
  }
}
