/**
 * What `cover-catalogue schedule` does with API keys: exports them to `keys.json` every two seconds, or
 * every second if there are replicas; sends them to the depot of replicas; and imports key usage from
 * proxies here and at replicas. The depot has polls of its own, so that a slow one never delays the export.
 */
import type { KeyObject } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { WritableDepot } from '../../depot/depot.ts';
import { makeKeysSender } from '../../depot/keys.ts';
import type { Database } from '../../lib/database/database.ts';
import { openDatabase } from '../../lib/database/open.ts';
import { NothingToDo, type Tasks } from '../../lib/program/admin/tasks.ts';
import { poll } from '../../lib/program/poll.ts';
import { hasKeys, readKeys, refuseLoss, writeKeys } from './export-keys.ts';
import { makeKeyUsageImport, makeRemoteUsageImport } from './import-key-usage.ts';

const EXPORT_INTERVAL_MS = 2_000;
/** With replicas, whose proxies refuse a revoked key only after two more polls. */
const EXPORT_WITH_REPLICAS_MS = 1_000;
/** How often to look whether there are keys to send. Without any, that costs nothing. */
const SEND_INTERVAL_MS = 100;
/** Replicas send key usage about once a minute. */
const USAGE_INTERVAL_MS = 10_000;
const LONGEST_STOP_MS = 2_000;

/** Starts to poll. While the database cannot be read, `keys.json` and the depot stay as they are. */
export function pollKeys(options: {
  readonly databaseUrl: string;
  readonly snapshotsDir: string;
  /** The depot of KEYS_DEPOT; undefined if there are no replicas. */
  readonly depot: WritableDepot | undefined;
  readonly signingKey: KeyObject | undefined;
  readonly tasks: Tasks;
  readonly log: Logger;
}) {
  const { databaseUrl, snapshotsDir, depot, tasks, log } = options;
  const importKeyUsage = tasks.observe('import_key_usage', makeKeyUsageImport(snapshotsDir));
  const exportKeys = tasks.observe('export_keys', readAndWrite);
  let database: Database | undefined;
  let hasFailed = false;
  let lastUsageFault = '';
  /** The keys that were read last and when, until they are sent. */
  let unsent: { readonly content: string; readonly readAt: number } | undefined;

  /** @returns the database, unless it has no keys yet */
  async function readAndWrite(): Promise<Database | NothingToDo> {
    try {
      database ??= await openDatabase(databaseUrl);
      const keys = (await hasKeys(database)) ? await readKeys(database) : undefined;
      if (keys === undefined) refuseLoss(keys, snapshotsDir);
      else {
        unsent = { content: keys, readAt: Date.now() };
        if (writeKeys(keys, snapshotsDir)) log.info('exported the keys');
      }
      if (hasFailed) log.info('the keys file is updated again');
      hasFailed = false;
      if (keys === undefined)
        return new NothingToDo('the database does not have the table api_keys');
      return database;
    } catch (error) {
      hasFailed = true;
      await closeDatabase();
      throw error;
    }
  }

  async function exportAndImport(): Promise<void> {
    const open = await exportKeys();
    if (open instanceof NothingToDo) return;
    // Logs an error instead of throwing it, since the export of the keys has worked.
    try {
      await importKeyUsage(open, new Date());
      lastUsageFault = '';
    } catch (error) {
      const { message } = error as Error;
      if (message !== lastUsageFault) log.warn(`key usage cannot be imported: ${message}`);
      lastUsageFault = message;
    }
  }

  async function closeDatabase(): Promise<void> {
    const old = database;
    database = undefined;
    await old?.close().catch(() => {});
  }

  const interval = depot === undefined ? EXPORT_INTERVAL_MS : EXPORT_WITH_REPLICAS_MS;
  const exporting = poll(exportAndImport, interval, ({ message }) =>
    log.error(`the keys file is not updated: ${message}`),
  );
  const polls = [exporting];
  if (depot !== undefined) {
    const importUsage = tasks.observe('import_remote_key_usage', makeRemoteUsageImport(depot));
    const importOnce = async () => {
      if (database !== undefined) await importUsage(database, new Date());
    };
    const sender = makeKeysSender(depot, options.signingKey, Date.now);
    const send = tasks.observe('send_keys', sender);
    const sendOnce = async () => {
      const keys = unsent;
      if (keys === undefined) return;
      if (await send(keys.content, keys.readAt)) {
        log.info({ depot: depot.name }, 'sent the keys to replicas');
      }
      if (unsent === keys) unsent = undefined;
    };
    polls.push(
      poll(sendOnce, SEND_INTERVAL_MS, ({ message }) =>
        log.error(`the keys are not sent to replicas: ${message}`),
      ),
      poll(importOnce, USAGE_INTERVAL_MS, ({ message }) =>
        log.warn(`key usage of replicas cannot be imported: ${message}`),
      ),
    );
  }
  for (const each of polls) void each.start();

  return {
    /** Exports and imports now. Resolves when that is done. */
    now: exporting.now,
    async stop() {
      const stopped = Promise.all(polls.map((each) => each.stop())).then(closeDatabase);
      // Does not wait longer for a database or a depot that does not answer.
      await Promise.race([stopped, pause(LONGEST_STOP_MS)]);
      depot?.close();
    },
  };
}
