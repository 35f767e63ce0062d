/**
 * The program of the thread in which `replica` pulls generations: it reads, checks and publishes them. So whatever
 * another machine sends as a generation, the keys, and with them revocations, arrive in the first thread.
 */
import type { KeyObject } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import { RefusedReleaseError } from '../depot/depot.ts';
import { openDepot } from '../depot/open.ts';
import { makeSnapshotPuller, type PulledSnapshot } from '../depot/replica.ts';
import { systemClock } from '../depot/transfers.ts';
import { checkFind } from '../find/check.ts';
import { makeCalls } from '../lib/program/calls.ts';
import { makeLog } from '../lib/program/log.ts';
import { logProgress } from '../lib/program/progress.ts';

export interface ReplicaThreadData {
  readonly snapshotsDir: string;
  readonly logLevel: string;
  readonly publicKeys: readonly KeyObject[];
  /** The address of the depot. */
  readonly from: string;
  readonly keyFile: string | undefined;
  /** With the credentials of S3. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

const { snapshotsDir, logLevel, publicKeys, from, ...options }: ReplicaThreadData = workerData;
const pull = makeSnapshotPuller(openDepot(from, options), {
  snapshotsDir,
  publicKeys,
  report: logProgress(makeLog(logLevel)),
  clock: systemClock,
  checkFind,
});

const functions = {
  /** @returns why it was refused, if it was: the class of an error would not arrive */
  pull: (): Promise<PulledSnapshot | { readonly refused: string }> =>
    pull().catch((error) => {
      if (error instanceof RefusedReleaseError) return { refused: error.message };
      throw error;
    }),
};
export type ReplicaThread = typeof functions;

if (parentPort === null) throw new Error('replica-thread.ts can only run as a worker thread.');
makeCalls(parentPort, functions);
