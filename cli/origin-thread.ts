/**
 * The program of the thread in which `schedule` reads and writes depots: it pushes generations, and sends keys to
 * replicas. So whatever another machine sends, the export of keys, which revokes them, goes on in the first thread.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { makeKeysSender, type SentKeys } from '../depot/keys.ts';
import { openKeysDepot } from '../depot/open.ts';
import { pushConfigured } from '../depot/push.ts';
import { type PushSettings, readSigningKey } from '../depot/signing.ts';
import { makeCalls } from '../lib/program/calls.ts';
import type { Environment } from '../lib/program/environment/environment.ts';
import { makeLog } from '../lib/program/log.ts';
import { logProgress } from '../lib/program/progress.ts';

export interface OriginThreadData {
  readonly settings: PushSettings & Environment<'KEYS_DEPOT' | 'LOG_LEVEL'>;
  /** With the credentials of S3. */
  readonly variables: Readonly<Record<string, string | undefined>>;
}

const { settings, variables }: OriginThreadData = workerData;
const log = makeLog(settings.LOG_LEVEL);
const keysDepot = openKeysDepot(settings.KEYS_DEPOT, {}, { environment: variables });
const signingKey = readSigningKey(settings.SNAPSHOT_SIGNING_KEY);
const sendKeys =
  keysDepot && makeKeysSender(keysDepot, signingKey, Date.now, (text) => log.warn(text));

const functions = {
  push: () => pushConfigured(settings, variables, logProgress(log)),
  /** @returns whether they are new */
  sendKeys: async (keys: SentKeys) => (await sendKeys?.(keys)) ?? false,
};
export type OriginThread = typeof functions;

if (parentPort === null) throw new Error('origin-thread.ts can only run as a worker thread.');
makeCalls(parentPort, functions);
