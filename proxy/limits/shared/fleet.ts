/**
 * This proxy as a member of the fleet: keeps in touch with the store, and knows whether it may be asked.
 * It may once this proxy has reported everything that the store does not know, everybody else has done
 * the same since the store lost its memory, and all live proxies know of this one.
 *
 * Invariant: while the store may be asked, it knows every request that this proxy admitted in the last
 * 60 seconds.
 */
import type { StoreConnection, Surroundings } from './connection.ts';
import {
  ClockFault,
  type Joined,
  makeStore,
  STORE_TIMEOUTS,
  StoreFault,
  type StoreTimeouts,
  splitReport,
} from './store.ts';
import { makeUnreported, type WindowTimes } from './unreported.ts';

/** How often the store is told that this proxy is alive. */
export const BEAT_MS = 1_000;
/** How soon it is tried again while it may not be asked; each time twice as long, up to a beat. */
const RETRY_MS = 100;
/** How long a proxy that starts waits for the store: long enough to be the first one. */
const START_MS = 4_000;

/** The windows of this process, which contain what it admitted itself. */
export interface OwnWindows {
  all(now: number): Iterable<WindowTimes>;
  /** Sets the seed of the names of addresses, which all proxies share. */
  useSeed(seed: string): void;
}

export interface FleetOptions {
  readonly connection: StoreConnection;
  readonly surroundings: Surroundings;
  /** The name of this process; all of its threads have the same. */
  readonly proxy: string;
  readonly windows: OwnWindows;
  readonly timeouts?: StoreTimeouts | undefined;
  /** Called whenever it was decided whether the store may be asked. */
  readonly onChange: () => void;
}

export interface Fleet {
  /** The epoch for commands to the store; undefined while it may not be asked. */
  epoch(): string | undefined;
  /** Whether the store may be asked in a moment: requests then wait, since each would have to be reported. */
  isNearlyReady(): boolean;
  /** How many proxies there are, including this one, as far as it knows. */
  proxies(): number;
  /** Why the store may not be asked. */
  fault(): string | undefined;
  /** Notes a request that was admitted without the store. */
  note(window: string, time: number): void;
  /** The store did not answer, or not as it should. */
  lose(error: Error): void;
  /** Asks for requests. @returns the reply of the script, without the time */
  admit(keys: readonly string[], args: readonly (string | number)[]): Promise<readonly unknown[]>;
  /** Resolves when the store may be asked, or after four seconds. */
  start(): Promise<void>;
  /** Reports what the store does not know yet, if it can be reached, and ends. */
  stop(): Promise<void>;
}

export function makeFleet(options: FleetOptions): Fleet {
  const { connection, surroundings, proxy, windows, timeouts = STORE_TIMEOUTS } = options;
  const { now, after } = surroundings;
  const store = makeStore(connection, surroundings, proxy, timeouts);
  const unreported = makeUnreported(now);
  /** The epoch in which the store knows all requests of this proxy, except the unreported ones. */
  let reported: string | undefined;
  let jumpedIn = '';
  let members: readonly string[] = [proxy];
  /** Whether the members are those of a fleet in which this proxy has already shared limits. */
  let isExperienced = false;
  let ready: string | undefined;
  /** The server on which this proxy has joined. Another one may have an older state of the same epoch. */
  let readyOn: string | undefined;
  let fault: string | undefined = 'it was not reached yet';
  let isNearlyReady = false;
  let losses = 0;
  let isStopped = false;
  let retryMs = RETRY_MS;
  let cancelBeat = () => {};
  let underWay: Promise<void> | undefined;

  function setReady(epoch: string | undefined, reason?: string): void {
    ready = epoch;
    fault = reason;
    isNearlyReady = false;
    options.onChange();
  }

  function setLost(error: Error): void {
    // A server that refuses commands may have been replaced: a new connection finds the new one.
    if (!(error instanceof StoreFault)) connection.reset();
    if (error instanceof ClockFault) jumpedIn = ready ?? reported ?? '';
    setReady(undefined, error.message);
  }

  async function join(): Promise<Joined> {
    const others = isExperienced ? members.filter((member) => member !== proxy) : [];
    const joined = await store.join(others, jumpedIn);
    if (joined.epoch !== jumpedIn) jumpedIn = '';
    windows.useSeed(joined.seed);
    members = joined.members;
    return joined;
  }

  /** Joins, and reports all requests of the last 60 seconds if the store does not know them. */
  async function joinAndReport(): Promise<Joined> {
    const joined = await join();
    const { epoch, reportedAt } = joined;
    if (ready !== undefined && epoch !== ready) setReady(undefined, 'it has started again');
    if (reported === epoch) {
      // Everything is reported, but others may wait for this proxy.
      if (reportedAt === undefined) await store.report(epoch, 'last', [], timeouts.request);
      return joined;
    }
    // What another thread of this process has reported includes what this one admitted before.
    if (reportedAt !== undefined) unreported.dropBefore(reportedAt - timeouts.report);
    await reportAll(epoch);
    const again = await join();
    if (again.epoch !== epoch) throw new StoreFault('it has started again');
    return again;
  }

  async function reportAll(epoch: string): Promise<void> {
    // Nothing is admitted between these lines, so each request is in one of the two.
    const all = [...windows.all(now())];
    const taken = unreported.take();
    let wasFirst = false;
    try {
      wasFirst = await reportParts(epoch, splitReport(all));
      reported = epoch;
    } finally {
      // Another thread that was first may not have known what was admitted since.
      if (!wasFirst) unreported.putBack(taken);
    }
  }

  /** @returns false if another thread of this process has already reported everything */
  async function reportParts(epoch: string, parts: readonly WindowTimes[][]): Promise<boolean> {
    for (const [index, part] of parts.entries()) {
      const kind = index === parts.length - 1 ? 'last' : 'seed';
      if (!(await store.report(epoch, kind, part, timeouts.report))) return false;
    }
    return true;
  }

  /** Reports what was admitted without the store. Once that is little, new requests wait. */
  async function reportRest(epoch: string, isAsking: boolean): Promise<void> {
    for (let round = 0; !unreported.isEmpty(); round++) {
      isNearlyReady = isAsking && round > 0;
      const timeoutMs = isNearlyReady ? timeouts.request : timeouts.report;
      const taken = unreported.take();
      try {
        for (const part of splitReport(taken)) {
          await store.report(epoch, 'report', part, timeoutMs);
        }
      } catch (error) {
        unreported.putBack(taken);
        throw error;
      }
    }
  }

  async function beat(): Promise<void> {
    const before = losses;
    const server = connection.server();
    try {
      const { epoch, isOpen, isKnown } = await joinAndReport();
      await reportRest(epoch, isOpen && isKnown);
      if (before !== losses) setReady(undefined, fault);
      else if (!isOpen) setReady(undefined, 'it waits until every proxy has reported its requests');
      else if (!isKnown) setReady(undefined, 'it waits until every proxy knows this one');
      else {
        readyOn = server;
        isExperienced = true;
        setReady(epoch);
      }
    } catch (error) {
      setLost(error as Error);
    }
  }

  function beatNow(): Promise<void> {
    underWay ??= beat().finally(() => {
      underWay = undefined;
      schedule(ready === undefined ? retryMs : BEAT_MS);
      retryMs = ready === undefined ? Math.min(BEAT_MS, retryMs * 2) : RETRY_MS;
    });
    return underWay;
  }

  function schedule(milliseconds: number): void {
    if (isStopped) return;
    cancelBeat();
    cancelBeat = after(milliseconds, () => void beatNow());
  }

  function lose(error: Error): void {
    losses++;
    setLost(error);
    schedule(0);
  }

  return {
    epoch() {
      if (ready !== undefined && connection.server() !== readyOn) {
        lose(new StoreFault(connection.fault() ?? 'the connection leads to another server'));
      }
      return ready;
    },
    isNearlyReady: () => isNearlyReady,
    proxies: () => members.length,
    fault: () => fault,
    note: unreported.note,
    lose,
    async admit(keys, args) {
      const [, ...reply] = await store.run('admit', keys, args, timeouts.request);
      if (reply.length === 0) throw new StoreFault('it has started again');
      return reply;
    },
    async start() {
      for (const end = now() + START_MS; now() < end; ) {
        await beatNow();
        if (ready !== undefined) return;
        await new Promise<void>((resolve) => void after(RETRY_MS, resolve));
      }
    },
    async stop() {
      isStopped = true;
      cancelBeat();
      await underWay;
      try {
        if (reported !== undefined) await reportRest(reported, false);
        await store.leave();
      } catch {
        // The store counts this proxy for another minute.
      }
      setReady(undefined, 'this proxy has stopped');
      connection.close();
    },
  };
}
