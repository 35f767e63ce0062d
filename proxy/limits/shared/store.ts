/**
 * The commands that this proxy sends to the store, each with a time limit. Every reply begins with the
 * time of the store, which is compared with the clock of this machine.
 */
import { type StoreConnection, StoreTimeout, type Surroundings } from './connection.ts';
import { type ScriptName, STORE_KEYS, windowKey } from './scripts.ts';
import { makeStoreClock } from './store-clock.ts';
import type { WindowTimes } from './unreported.ts';

/** In milliseconds, how long a proxy waits for the store. */
export const STORE_TIMEOUTS = {
  /** For a request and most commands. */
  request: 200,
  /** Reports can be large. */
  report: 1_000,
  /** An older reply is not used, even if it came in time. */
  oldestReply: 1_000,
};
export type StoreTimeouts = typeof STORE_TIMEOUTS;

/** How many times of requests a report may contain. */
const MOST_TIMES = 20_000;

/** The store answered, but the answer cannot be used. */
export class StoreFault extends Error {
  override readonly name = 'StoreFault';
}

/** One of the clocks was changed, so the times in the store are wrong. */
export class ClockFault extends StoreFault {}

export interface Joined {
  readonly epoch: string;
  readonly isOpen: boolean;
  /** When this proxy reported, by its own clock; undefined if it has not reported in this epoch. */
  readonly reportedAt: number | undefined;
  /** Whether every other live proxy knows this one. */
  readonly isKnown: boolean;
  /** The seed of the names of addresses. */
  readonly seed: string;
  /** The proxies of the fleet, including this one. */
  readonly members: readonly string[];
}

/** "report": some requests. "seed": a part of all requests of the last 60 seconds. "last": its last part. */
export type ReportKind = 'report' | 'seed' | 'last';

export interface Store {
  /** @throws StoreTimeout, StoreFault, or the error of the server */
  run(
    script: ScriptName,
    keys: readonly string[],
    args: readonly (string | number)[],
    timeoutMs: number,
  ): Promise<readonly unknown[]>;
  /**
   * @param others the other proxies with which this one has shared limits
   * @param jumpedIn the epoch that must end because a clock was changed in it; empty if none
   */
  join(others: readonly string[], jumpedIn: string): Promise<Joined>;
  /** @returns false if this proxy has already reported all of its requests */
  report(
    epoch: string,
    kind: ReportKind,
    part: readonly WindowTimes[],
    timeoutMs: number,
  ): Promise<boolean>;
  leave(): Promise<void>;
}

export function makeStore(
  connection: StoreConnection,
  { now, after, defer, randomText }: Surroundings,
  proxy: string,
  timeouts: StoreTimeouts,
): Store {
  const storeClock = makeStoreClock();
  let server: string | undefined;
  let members: readonly string[] = [proxy];
  let listVersion = '';

  function withTimeout<T>(promise: Promise<T>, timeoutMs: number): Promise<T> {
    return new Promise((resolve, reject) => {
      // If this thread was blocked, the reply may have arrived in time but is still unread.
      const cancel = after(timeoutMs, () => defer(() => reject(late(timeoutMs))));
      promise.then(resolve, reject).finally(cancel);
    });
  }

  async function run(
    script: ScriptName,
    keys: readonly string[],
    args: readonly (string | number)[],
    timeoutMs: number,
  ): Promise<readonly unknown[]> {
    const sentTo = connection.server();
    if (sentTo === undefined) throw new StoreFault(connection.fault() ?? 'there is no connection');
    const sent = now();
    const reply = await withTimeout(connection.run(script, keys, args), timeoutMs);
    const received = now();
    // This thread was blocked for long, and another server may have taken over since.
    if (received - sent > timeouts.oldestReply) throw late(timeouts.oldestReply);
    if (sentTo !== server) {
      server = sentTo;
      storeClock.reset();
    }
    if (storeClock.hasJumped(Number(reply[0]) / 1000, sent, received)) {
      throw new ClockFault('its clock or the one of this machine was changed');
    }
    return reply;
  }

  return {
    run,
    async join(others, jumpedIn) {
      const keys = Object.values(STORE_KEYS);
      const names = [proxy, connection.server() ?? '', jumpedIn, randomText(), randomText()];
      const args = [...names, listVersion, others.length];
      let reply = await run('join', keys, args, timeouts.request);
      // The list of others is long in a large fleet, and only a new epoch needs it.
      if (reply.length === 1 || (reply[2] === 0 && others.length > 0)) {
        reply = await run('join', keys, [...args, ...others], timeouts.request);
      }
      const [time, epoch, isOpen, reportedAt, isKnown, seed, version, ...list] = reply;
      if (version !== listVersion) {
        listVersion = String(version);
        members = list.map(String);
      }
      const agoMs = (Number(time) - Number(reportedAt)) / 1000;
      return {
        epoch: String(epoch),
        isOpen: isOpen === 1,
        reportedAt: reportedAt === 0 ? undefined : now() - agoMs,
        isKnown: isKnown === 1,
        seed: String(seed),
        members,
      };
    },
    async report(epoch, kind, part, timeoutMs) {
      const { state, open, expected, seeded } = STORE_KEYS;
      const windows = part.map(({ name }) => windowKey(epoch, name));
      const time = now();
      const ages = part.flatMap(({ times }) => [
        times.length,
        ...times.map((at) => Math.max(0, Math.floor((time - at) * 1000))),
      ]);
      const keys = [state, open, expected, seeded, ...windows];
      const [, outcome] = await run('report', keys, [epoch, proxy, kind, ...ages], timeoutMs);
      if (outcome === 0) throw new StoreFault('it has started again');
      return outcome === 1;
    },
    async leave() {
      await run('leave', [STORE_KEYS.members], [proxy], timeouts.request);
    },
  };
}

/** Divides windows into parts that a report can contain. @returns at least one part */
export function splitReport(all: readonly WindowTimes[]): WindowTimes[][] {
  const parts: WindowTimes[][] = [[]];
  let count = 0;
  for (const { name, times } of all) {
    for (let at = 0; at < times.length; at += MOST_TIMES) {
      const piece = times.slice(at, at + MOST_TIMES);
      if (count + piece.length > MOST_TIMES) {
        parts.push([]);
        count = 0;
      }
      parts.at(-1)?.push({ name, times: piece });
      count += piece.length;
    }
  }
  return parts;
}

function late(milliseconds: number): StoreTimeout {
  return new StoreTimeout(`it did not answer within ${milliseconds} ms`);
}
