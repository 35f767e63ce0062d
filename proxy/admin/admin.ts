/** The admin server of the proxy: `/readyz` and `/metrics`. */
import type { Server } from 'node:http';
import { makeAdminServer } from '../../program/admin/program-admin.ts';
import { type Failure, LIMIT_COUNTS } from '../limits/redis-limiter.ts';
import type { Metrics } from './metrics.ts';
import { readState, type StateParts } from './state.ts';

export interface AdminParts extends StateParts {
  readonly metrics: Metrics;
  /** The counts of each thread of shared limits; undefined if the limits are those of this process. */
  readonly limitCounts: readonly Float64Array[] | undefined;
  readonly limitsFailure: Failure;
  readonly isStopping: () => boolean;
  /** For each file that the proxy cannot read or write at the moment, a message that says why. */
  readonly faults: () => readonly string[];
}

export function makeProxyAdmin(parts: AdminParts): Server {
  /**
   * Ready means: a generation and the keys are in memory, the proxy is not stopping, and it does not
   * refuse all requests, because of maintenance or because the limits store cannot be asked.
   */
  async function readiness() {
    const state = await readState(parts);
    const { snapshot, refused, keys, maintenanceSeconds } = state;
    const limits = parts.limitCounts ? limitsOf(parts.limitCounts, parts.limitsFailure) : null;
    const isStopping = parts.isStopping();
    const hasData = snapshot !== undefined && keys !== undefined;
    const isServing = limits?.mode !== 'refuse' && maintenanceSeconds === 0 && !isStopping;
    return {
      ready: hasData && isServing,
      stopping: isStopping,
      maintenance: maintenanceSeconds === 0 ? null : { retry_after_seconds: maintenanceSeconds },
      snapshot: snapshot?.id ?? null,
      snapshot_age_seconds: state.dataAge ?? null,
      refused: refused === undefined ? null : { id: refused.id, error: refused.error.message },
      held: state.held,
      keys: keys ?? null,
      keys_error: parts.keys.fault() ?? null,
      keys_age_seconds: state.keysAge ?? null,
      replica: state.replica,
      limits,
      faults: parts.faults(),
    };
  }

  const metrics = () => parts.metrics.expose(() => readState(parts));
  return makeAdminServer({ readiness, metrics });
}

/** How requests are decided now: by the limits store, or as LIMITS_FAILURE says. */
function limitsOf(threads: readonly Float64Array[], failure: Failure) {
  const isReady = threads.every((counts) => counts[LIMIT_COUNTS.isReady] === 1);
  if (isReady) return { mode: 'shared', error: null };
  return { mode: failure, error: 'the server of LIMITS_URL cannot be asked; the log says why' };
}
