/**
 * Polls the files that the proxy reads, and writes its key usage at intervals. A file that cannot be
 * read is reported, and the proxy keeps serving with what it has.
 */
import type { Logger } from 'pino';
import { poll } from '../program/poll.ts';
import type { KeyStore } from './keys/key-store.ts';
import type { KeyUsage } from './keys/key-usage.ts';
import type { MaintenanceFile } from './maintenance.ts';
import type { Snapshots } from './snapshot/snapshots.ts';

/** How often a proxy polls, in milliseconds. */
export const INTERVALS = {
  /** Each poll reads one symbolic link. */
  snapshot: 100,
  /** Each poll reads the modification time. An owner of a new key waits for it. */
  keys: 200,
  maintenance: 1_000,
  usage: 60_000,
};
export type Intervals = typeof INTERVALS;

export interface Polled {
  readonly snapshots: Snapshots;
  readonly keys: KeyStore;
  readonly usage: KeyUsage;
  readonly maintenance: MaintenanceFile;
}

export function makePolling(
  { snapshots, keys, usage, maintenance }: Polled,
  intervals: Intervals,
  log: Logger,
) {
  const warn = (step: string, consequence: string) => (error: Error) =>
    log.warn({ err: error }, `cannot ${step}; ${consequence}`);
  const keepServing = 'the proxy keeps serving as before';

  function onKeysFault(error: Error): void {
    const isFirst = keys.size() === undefined;
    // A state, not a fault: `schedule` has not exported any keys yet.
    if (isFirst && Object(error.cause).code === 'ENOENT') {
      log.info(`${error.message} Requests with a key get 503.`);
    } else {
      const next = isFirst ? 'requests with a key get 503' : 'the last known keys stay valid';
      log.warn({ err: error }, `cannot read the keys; ${next}`);
    }
  }

  const polls = [
    poll(snapshots.refresh, intervals.snapshot, warn('follow the snapshot', keepServing)),
    poll(keys.refresh, intervals.keys, onKeysFault),
    poll(
      maintenance.refresh,
      intervals.maintenance,
      warn('use the content of the file', 'maintenance is on'),
    ),
  ];
  const usagePoll = poll(usage.write, intervals.usage, warn('report key usage', keepServing));
  return {
    /** Resolves after each file was read for the first time; then polls them. */
    async start(): Promise<void> {
      await Promise.all(polls.map((each) => each.start()));
      await usagePoll.start();
    },
    /** Reads each file now. Resolves when the proxy serves what they say. */
    async refresh(): Promise<void> {
      await Promise.all(polls.map((each) => each.now()));
    },
    /** Stops reading files. */
    stop(): void {
      for (const each of polls) void each.stop();
    },
    /** Reports key usage one last time. */
    finish: usagePoll.finish,
    /** For each file that cannot be read or written at the moment, a message that says why. */
    faults: (): string[] => [...polls, usagePoll].flatMap((each) => each.fault() ?? []),
  };
}
