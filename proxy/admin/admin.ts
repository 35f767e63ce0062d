/** The admin server of the proxy: what `/readyz` and the metrics say about its snapshot, keys and limits. */
import type { Server } from 'node:http';
import { readReplicaState } from '../../depot/replica-files.ts';
import { makeAdminServer } from '../../program/admin/program-admin.ts';
import type { KeyStore } from '../keys/key-store.ts';
import { type Failure, LIMIT_COUNTS } from '../limits/redis-limiter.ts';
import type { Snapshots } from '../snapshot/snapshots.ts';
import type { Metrics, Readings } from './metrics.ts';
import { healthOf, readDataTime, readHeld, secondsSince } from './publishing-state.ts';

export interface AdminParts {
  readonly snapshotsDir: string;
  readonly snapshots: Snapshots;
  readonly keys: KeyStore;
  readonly metrics: Metrics;
  /** The counts of each thread of shared limits; undefined if the limits are those of this process. */
  readonly limitCounts: readonly Float64Array[] | undefined;
  readonly limitsFailure: Failure;
  /** The seconds for `Retry-After` during maintenance, otherwise 0. */
  readonly maintenance: () => number;
  readonly isStopping: () => boolean;
  /** For each file that the proxy cannot read or write at the moment, a message that says why. */
  readonly faults: () => readonly string[];
}

export function makeProxyAdmin(parts: AdminParts): Server {
  const { snapshots, keys, metrics } = parts;

  async function read(): Promise<Readings> {
    const current = snapshots.current();
    const replica = readReplicaState(parts.snapshotsDir);
    const dataTime = current && (await readDataTime(parts.snapshotsDir, current.id, replica));
    const confirmedAt = keys.confirmedAt();
    return {
      snapshot:
        current === undefined
          ? undefined
          : {
              id: current.id,
              games: current.counts.games,
              covers: current.counts.covers,
            },
      isRefusing: snapshots.refusal() !== undefined,
      held: await readHeld(parts.snapshotsDir),
      dataAge: dataTime === undefined ? undefined : secondsSince(dataTime),
      keys: keys.size(),
      keysAge: confirmedAt === undefined ? undefined : secondsSince(confirmedAt),
      replica: healthOf(replica),
      isMaintenance: parts.maintenance() > 0,
    };
  }

  /**
   * Ready means: a generation and the keys are in memory, the proxy is not stopping, and it does not
   * refuse all requests, because of maintenance or because the limits store cannot be asked.
   */
  async function readiness() {
    const { snapshot, held, keys: known, dataAge, keysAge, replica } = await read();
    const refusal = snapshots.refusal();
    const limits = parts.limitCounts && limitsOf(parts.limitCounts, parts.limitsFailure);
    const hasData = snapshot !== undefined && known !== undefined;
    const seconds = parts.maintenance();
    const isReady = hasData && limits?.mode !== 'refuse' && seconds === 0 && !parts.isStopping();
    return {
      ready: isReady,
      stopping: parts.isStopping(),
      maintenance: seconds === 0 ? null : { retry_after_seconds: seconds },
      snapshot: snapshot?.id ?? null,
      snapshot_age_seconds: dataAge ?? null,
      refused: refusal === undefined ? null : { id: refusal.id, error: refusal.error.message },
      held: held ?? null,
      keys: known ?? null,
      keys_error: keys.fault() ?? null,
      keys_age_seconds: keysAge ?? null,
      replica,
      limits: limits ?? null,
      faults: parts.faults(),
    };
  }

  return makeAdminServer({ readiness, metrics: () => metrics.expose(read) });
}

/** How requests are decided now: by the limits store, or as LIMITS_FAILURE says. */
function limitsOf(threads: readonly Float64Array[], failure: Failure) {
  const isReady = threads.every((counts) => counts[LIMIT_COUNTS.isReady] === 1);
  if (isReady) return { mode: 'shared', error: null };
  return { mode: failure, error: 'the server of LIMITS_URL cannot be asked; the log says why' };
}
