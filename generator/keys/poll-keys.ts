/**
 * What `cover-catalogue schedule` does with API keys: exports them to `keys.json` every two seconds, or
 * every second if there are replicas; sends them to the key store; and imports key usage from proxies
 * here and at replicas. The store has polls of its own, so that a slow one never delays the export.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Database } from '../../database/database.ts';
import { openDatabase } from '../../database/open.ts';
import type { Tasks } from '../../program/admin/tasks.ts';
import { poll } from '../../program/poll.ts';
import { makeKeysSender } from '../../store/keys/send-keys.ts';
import type { RemoteStore } from '../../store/remote/remote.ts';
import type { SigningKey } from '../../store/signatures/keys.ts';
import { systemClock } from '../../store/transfer/clock.ts';
import { hasKeys, readKeys, refuseLoss, writeKeys } from './export-keys.ts';
import { makeKeyUsageImport } from './import-key-usage.ts';
import { makeRemoteUsageImport } from './import-remote-usage.ts';

const EXPORT_INTERVAL_MS = 2_000;
/** With replicas, whose proxies refuse a revoked key only after two more polls. */
const EXPORT_WITH_REPLICAS_MS = 1_000;
/** How often to look whether there are keys to send. Without any, that costs nothing. */
const SEND_INTERVAL_MS = 100;
/** Replicas send key usage about once a minute. */
const USAGE_INTERVAL_MS = 10_000;
const LONGEST_STOP_MS = 2_000;

export interface KeysPollOptions {
  readonly databaseUrl: string;
  readonly snapshotsDir: string;
  /** The key store; undefined if there are no replicas. */
  readonly store: RemoteStore | undefined;
  readonly signingKeys: readonly SigningKey[];
  readonly tasks: Tasks;
  readonly log: Logger;
}

/** Starts to poll. While the database cannot be read, `keys.json` and the store stay as they are. */
export function pollKeys(options: KeysPollOptions) {
  const { databaseUrl, snapshotsDir, store, tasks, log } = options;
  const importKeyUsage = tasks.observe('import_key_usage', makeKeyUsageImport(snapshotsDir));
  let database: Database | undefined;
  let isDatabaseGone = false;
  let hasWriteFailed = false;
  let lastUsageFault = '';
  /** The keys that were read last and when, until they are sent. */
  let unsent: { readonly content: string; readonly readAt: number } | undefined;

  /** @returns the database; undefined if it has no keys yet */
  async function exportOnce(): Promise<Database | undefined> {
    const { open, keys } = await read();
    if (keys === undefined) {
      refuseLoss(keys, snapshotsDir);
      return undefined;
    }
    unsent = { content: keys, readAt: Date.now() };
    write(keys);
    return open;
  }

  async function read(): Promise<{ open: Database; keys: string | undefined }> {
    try {
      database ??= await openDatabase(databaseUrl);
      const keys = (await hasKeys(database)) ? await readKeys(database) : undefined;
      if (isDatabaseGone) log.info('the database is back');
      isDatabaseGone = false;
      return { open: database, keys };
    } catch (error) {
      isDatabaseGone = true;
      await closeDatabase();
      throw error;
    }
  }

  function write(keys: string): void {
    try {
      if (writeKeys(keys, snapshotsDir)) log.info('exported the keys');
      if (hasWriteFailed) log.info('the keys can be written again');
      hasWriteFailed = false;
    } catch (error) {
      hasWriteFailed = true;
      throw error;
    }
  }

  // Logs an error instead of throwing it, since the export of the keys has worked.
  async function importOnce(open: Database): Promise<void> {
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

  const interval = store === undefined ? EXPORT_INTERVAL_MS : EXPORT_WITH_REPLICAS_MS;
  const exportObserved = tasks.observe('export_keys', exportOnce);
  const exportAndImport = async () => {
    const open = await exportObserved();
    if (open !== undefined) await importOnce(open);
  };
  const exporting = poll(exportAndImport, interval, ({ message }) =>
    log.error(`the keys file is not updated: ${message}`),
  );
  void exporting.start();
  const remote = store && pollStore(store);

  function pollStore(store: RemoteStore) {
    const sender = makeKeysSender(store, options.signingKeys, systemClock);
    const importRemoteUsage = tasks.observe(
      'import_remote_key_usage',
      makeRemoteUsageImport(store),
    );
    const send = tasks.observe('send_keys', sender.send);
    const sendOnce = async () => {
      const keys = unsent;
      if (keys === undefined) return;
      if (await send(keys.content, keys.readAt)) {
        log.info({ store: store.name }, 'sent the keys to replicas');
      }
      if (unsent === keys) unsent = undefined;
    };
    const importOnceRemote = async () => {
      if (database !== undefined) await importRemoteUsage(database, new Date());
    };
    const polls = [
      poll(sendOnce, SEND_INTERVAL_MS, ({ message }) =>
        log.error(`the keys are not sent to replicas: ${message}`),
      ),
      poll(importOnceRemote, USAGE_INTERVAL_MS, ({ message }) =>
        log.warn(`key usage of replicas cannot be imported: ${message}`),
      ),
    ];
    for (const each of polls) void each.start();
    return { stop: () => Promise.all(polls.map((each) => each.stop())) };
  }

  return {
    /** Exports and imports now. Resolves when that is done. */
    now: exporting.now,
    async stop() {
      const stopped = Promise.all([exporting.stop(), remote?.stop()]).then(closeDatabase);
      // Does not wait longer for a database or a store that does not answer.
      await Promise.race([stopped, pause(LONGEST_STOP_MS)]);
      store?.close();
    },
  };
}
