/**
 * What `cover-catalogue schedule` does with API keys: exports them to `keys.json` every two seconds, or
 * every second if there are replicas; sends them to replicas; and imports key usage from the proxies here.
 * Sending is a poll of its own, and uses another thread, so that nothing on other machines ever delays the
 * export.
 */
import { statSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Database } from '../../lib/database/database.ts';
import { openDatabase } from '../../lib/database/open.ts';
import { LARGEST_KEYS_FILE, parseKeys } from '../../lib/format/keys-file.ts';
import { KEYS_FILE } from '../../lib/format/layout.ts';
import { addGauge } from '../../lib/program/admin/metrics.ts';
import { NothingToDo, type Tasks } from '../../lib/program/admin/tasks.ts';
import { tryToRead } from '../../lib/program/files/bounded-file.ts';
import { type Poll, poll } from '../../lib/program/poll.ts';
import { KeysLostError, readKeys, writeKeys } from './export-keys.ts';
import { makeKeyUsageImport } from './import-key-usage.ts';

const EXPORT_INTERVAL_MS = 2_000;
/** With replicas, whose proxies refuse a revoked key only after two more polls. */
const EXPORT_WITH_REPLICAS_MS = 1_000;
/** How often to look whether there are keys to send. Without any, that costs nothing. */
const SEND_INTERVAL_MS = 100;
const LONGEST_STOP_MS = 2_000;

/** The content of `keys.json`, on its way to replicas. */
interface UnsentKeys {
  readonly content: string;
  /** When it last agreed with the database, in milliseconds since 1970. */
  readonly readAt: number;
  /** Whether it was found on disk, because the database could not be read since the start. */
  readonly isStored: boolean;
}

/** The other machines that have the same keys. */
interface KeysReplicas {
  readonly name: string;
  /** Sends keys. It must not be called again before it has ended. @returns whether they are new */
  send(keys: UnsentKeys): Promise<boolean>;
}

interface KeysOptions {
  readonly databaseUrl: string;
  readonly snapshotsDir: string;
  /** Undefined if there are none. */
  readonly replicas: KeysReplicas | undefined;
  readonly registry: Registry;
  readonly tasks: Tasks;
  readonly log: Logger;
}

/** While the database cannot be read, `keys.json` and the replicas stay as they are. */
export class KeysPolls {
  private readonly options: KeysOptions;
  private readonly exporting: Poll;
  private readonly importing: Poll;
  private readonly polls: readonly Poll[];
  private database: Database | undefined;
  private hasFailed = false;
  private lastLoss = '';
  /** Usage waits until there is a table of keys, and lost keys are back. */
  private canImport = false;
  /** How many keys are gone, if nothing is exported for that reason. */
  private lost = 0;
  /** The keys of the last export, until they are sent. */
  private unsent: UnsentKeys | undefined;
  /** Whether the database could be read since the start. */
  private wasRead = false;

  /** Starts to poll. */
  constructor(options: KeysOptions) {
    this.options = options;
    const { snapshotsDir, replicas, registry, tasks, log } = options;
    const name = 'schedule_keys_lost';
    const help =
      'How many known keys are gone, if nothing is exported for that reason; otherwise 0';
    addGauge(registry, name, help, () => this.lost);
    const interval = replicas === undefined ? EXPORT_INTERVAL_MS : EXPORT_WITH_REPLICAS_MS;
    const exportKeys = tasks.observe('export_keys', () => this.readAndWrite());
    this.exporting = poll(
      () => this.exportOnce(exportKeys),
      interval,
      ({ message }) => log.error(`the keys file is not updated: ${message}`),
    );
    const importUsage = tasks.observe('import_key_usage', makeKeyUsageImport(snapshotsDir));
    this.importing = poll(
      async () => {
        if (this.database !== undefined && this.canImport) {
          await importUsage(this.database, new Date());
        }
      },
      interval,
      ({ message }) => log.warn(`key usage cannot be imported: ${message}`),
    );
    const sending = replicas === undefined ? [] : [this.pollReplicas(replicas)];
    this.polls = [this.exporting, this.importing, ...sending];
    for (const each of this.polls) void each.run();
  }

  /** Exports and imports now. Resolves when that is done. */
  async now(): Promise<void> {
    await this.exporting.run();
    await this.importing.run();
  }

  /** Does not wait longer than two seconds for a database or a replica that does not answer. */
  async stop(): Promise<void> {
    const stopped = Promise.all(this.polls.map((each) => each.stop()));
    await Promise.race([stopped.then(() => this.closeDatabase()), pause(LONGEST_STOP_MS)]);
  }

  private async readAndWrite(): Promise<NothingToDo | undefined> {
    const { databaseUrl, snapshotsDir, log } = this.options;
    let content: string | undefined;
    try {
      this.database ??= await openDatabase(databaseUrl);
      content = await readKeys(this.database, snapshotsDir);
      this.lost = 0;
      this.canImport = content !== undefined;
      if (content !== undefined) {
        this.wasRead = true;
        this.unsent = { content, readAt: Date.now(), isStored: false };
        if (writeKeys(content, snapshotsDir)) log.info('exported the keys');
      }
      if (this.hasFailed) log.info('the keys file is updated again');
      this.hasFailed = false;
    } catch (error) {
      if (!this.wasRead) this.unsent ??= readStored(snapshotsDir);
      if (error instanceof KeysLostError) {
        this.lost = error.lost;
        this.canImport = false;
        throw error;
      }
      this.hasFailed = true;
      await this.closeDatabase();
      throw error;
    }
    return content === undefined
      ? new NothingToDo('the database does not have the table api_keys')
      : undefined;
  }

  private async exportOnce(exportKeys: () => Promise<unknown>): Promise<void> {
    try {
      await exportKeys();
      this.lastLoss = '';
    } catch (error) {
      if (!(error instanceof KeysLostError)) throw error;
      // A failed poll would put off the next one, and with it the next revocation.
      if (error.message !== this.lastLoss) this.options.log.error(error.message);
      this.lastLoss = error.message;
    }
  }

  private pollReplicas(replicas: KeysReplicas): Poll {
    const { tasks, log } = this.options;
    const send = tasks.observe('send_keys', replicas.send);
    const sendOnce = async () => {
      const keys = this.unsent;
      if (keys === undefined) return;
      if (await send(keys)) {
        log.info({ depot: replicas.name }, 'sent the keys to replicas');
      }
      if (this.unsent === keys) this.unsent = undefined;
    };
    return poll(sendOnce, SEND_INTERVAL_MS, ({ message }) =>
      log.error(`the keys are not sent to replicas: ${message}`),
    );
  }

  private async closeDatabase(): Promise<void> {
    const old = this.database;
    this.database = undefined;
    await old?.close().catch(() => {});
  }
}

/** The keys of an earlier export, with which a replica can begin. @returns undefined if there are none */
function readStored(snapshotsDir: string): UnsentKeys | undefined {
  const file = path.join(snapshotsDir, KEYS_FILE);
  return tryToRead(file, LARGEST_KEYS_FILE, (content) => {
    parseKeys(content);
    return { content, readAt: statSync(file).mtimeMs, isStored: true };
  });
}
