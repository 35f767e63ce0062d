/**
 * The program of the threads in which `schedule` reads and writes depots: one pushes and sends keys to replicas, and
 * one imports the key usage that they report. So whatever another machine sends, the export of keys, which revokes
 * them, goes on in the first thread. A thread that has run out of memory is replaced.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { makeKeysSender, type SentKeys, usageReports } from '../depot/keys.ts';
import { openKeysDepot } from '../depot/open.ts';
import { pushConfigured } from '../depot/push.ts';
import { type PushSettings, readSigningKey } from '../depot/signing.ts';
import { makeUsageImport } from '../keys/export/import-key-usage.ts';
import type { Database } from '../lib/database/database.ts';
import { openDatabase } from '../lib/database/open.ts';
import { makeCalls } from '../lib/program/calls.ts';
import type { Environment } from '../lib/program/environment/environment.ts';
import { makeLog } from '../lib/program/log.ts';
import { logProgress } from '../lib/program/progress.ts';

export interface OriginThreadData {
  readonly settings: PushSettings & Environment<'DATABASE_URL' | 'KEYS_DEPOT' | 'LOG_LEVEL'>;
  /** With the credentials of S3. */
  readonly variables: Readonly<Record<string, string | undefined>>;
}

const { settings, variables }: OriginThreadData = workerData;
const log = makeLog(settings.LOG_LEVEL);
const keysDepot = openKeysDepot(settings.KEYS_DEPOT, {}, { environment: variables });
const signingKey = readSigningKey(settings.SNAPSHOT_SIGNING_KEY);
const sendKeys =
  keysDepot && makeKeysSender(keysDepot, signingKey, Date.now, (text) => log.warn(text));
const importReports = keysDepot && makeUsageImport(() => usageReports(keysDepot));
let database: Database | undefined;

const functions = {
  push: () => pushConfigured(settings, variables, logProgress(log)),
  /** @returns whether they are new */
  sendKeys: async (keys: SentKeys) => (await sendKeys?.(keys)) ?? false,
  async importUsage(): Promise<void> {
    try {
      database ??= await openDatabase(settings.DATABASE_URL);
      await importReports?.(database, new Date());
    } catch (error) {
      await database?.close().catch(() => {});
      database = undefined;
      throw error;
    }
  },
};
export type OriginThread = typeof functions;

if (parentPort === null) throw new Error('origin-thread.ts can only run as a worker thread.');
makeCalls(parentPort, functions);
