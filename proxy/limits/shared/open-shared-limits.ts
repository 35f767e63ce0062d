/**
 * Puts the shared limits of one serving thread together: its connection, its place in the fleet and its
 * waiting requests. Logs when the store can no longer be asked, and when it can again.
 */
import type { Logger } from 'pino';
import type { LimitsAddress } from '../../../program/environment/limits-url.ts';
import type { StoreConnection } from './connection.ts';
import { type LimitCells, makeLimitCells } from './counts.ts';
import { makeFleet, type OwnWindows } from './fleet.ts';
import { type Failure, makeSharedLimits } from './shared-limits.ts';
import type { StoreTimeouts } from './store.ts';
import { realSurroundings } from './surroundings.ts';
import type { Question } from './waiting-rows.ts';

export interface OpenSharedLimits {
  ask(question: Question): void;
  /** Resolves when the store may be asked, or after four seconds. */
  start(): Promise<void>;
  /** Reports what the store does not know yet, and closes the connection. */
  stop(): Promise<void>;
  /** Why the store cannot be asked, or which of its settings is unsafe; undefined if all is well. */
  fault(): string | undefined;
}

/** Connects one thread to the store. */
export type ConnectToStore = () => StoreConnection;

/**
 * Loads the client of the store, unless there is no store: the client takes 25 MB of memory and 50 ms
 * of CPU time in each thread.
 * @param address LIMITS_URL
 */
export async function loadStoreClient(
  address: LimitsAddress | undefined,
): Promise<ConnectToStore | undefined> {
  if (address === undefined) return undefined;
  const { connectToRedis } = await import('./redis-connection.ts');
  return () => connectToRedis(address);
}

export interface SharedLimitsParts {
  readonly connect: ConnectToStore;
  readonly failure: Failure;
  /** The name of this process in the fleet. */
  readonly proxy: string;
  readonly windows: OwnWindows;
  /** The counts of this thread. */
  readonly cells: Float64Array;
  /** The clock of the windows. */
  readonly now: () => number;
  readonly log: Logger;
  readonly timeouts?: StoreTimeouts | undefined;
}

export function openSharedLimits(parts: SharedLimitsParts): OpenSharedLimits {
  const { failure, windows, proxy } = parts;
  const surroundings = realSurroundings(parts.now);
  const connection = parts.connect();
  const counts = makeLimitCells(parts.cells);
  const logState = makeStateLog(failure, parts.log);
  let danger: string | undefined;
  const fleet = makeFleet({
    connection,
    surroundings,
    proxy,
    windows,
    timeouts: parts.timeouts,
    onChange() {
      noteState(counts);
      shared.onChange();
    },
  });
  const shared = makeSharedLimits({ fleet: () => fleet, surroundings, failure, counts });

  function noteState(cells: LimitCells): void {
    const isReachable = fleet.epoch() !== undefined;
    cells.setState(isReachable, fleet.proxies());
    logState(isReachable ? undefined : fleet.fault(), fleet.proxies());
    const found = isReachable ? connection.fault() : danger;
    if (found !== undefined && found !== danger) parts.log.warn(`The limits store: ${found}`);
    danger = found;
  }

  return {
    ask: shared.ask,
    start: fleet.start,
    stop: fleet.stop,
    fault: () => fleet.fault() ?? connection.fault(),
  };
}

/** Logs when the store can be asked and when it cannot, but not again while that stays the same. */
function makeStateLog(failure: Failure, log: Logger) {
  const consequence = {
    local: 'each proxy admits its share of every limit',
    refuse: 'requests get 503',
  }[failure];
  let wasReachable: boolean | undefined;
  return (fault: string | undefined, proxies: number): void => {
    const isReachable = fault === undefined;
    if (isReachable === wasReachable) return;
    wasReachable = isReachable;
    if (isReachable) log.info({ proxies }, 'the limits are shared');
    else log.warn(`cannot ask the limits store: ${fault}; ${consequence}`);
  };
}
