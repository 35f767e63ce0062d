/**
 * Polls the database for changes, and requests a run when there is one. While the database cannot be read,
 * nothing is requested; the runs of GENERATE_CRON go on. Polls never take more than a twentieth of the
 * time of one core of the server.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Database } from '../../database/database.ts';
import { openDatabase } from '../../database/open.ts';
import { checkCatalogue } from '../../database/schema.ts';
import type { Tasks } from '../../program/admin/tasks.ts';
import { poll } from '../../program/poll.ts';
import { isTakedown, readTableState, type TableState } from './table-state.ts';

/** A poll that takes a share of the time is followed by a pause of this many times its duration. */
const PAUSES_PER_POLL = 20;
/** In milliseconds: a poll that takes longer is reported once, with the fix. */
const SLOW_POLL = 250;
const LONGEST_STOP_MS = 2_000;

export interface ChangePollOptions {
  readonly databaseUrl: string;
  readonly seconds: number;
  readonly tasks: Tasks;
  readonly log: Logger;
  /** @param isUrgent whether the run must not wait */
  readonly request: (isUrgent: boolean) => void;
}

/** Starts to poll, unless the database cannot show what has changed. */
export function pollChanges({ databaseUrl, seconds, tasks, log, request }: ChangePollOptions) {
  let database: Database | undefined;
  let isTimed: boolean | undefined;
  let before: TableState | undefined;
  let nextAt = 0;
  let wasSlow = false;

  async function open(): Promise<Database> {
    const opened = database ?? (await openDatabase(databaseUrl));
    database = opened;
    if (isTimed !== undefined) return opened;
    const { withoutUpdatedAt } = await checkCatalogue(opened);
    isTimed = withoutUpdatedAt.length === 0;
    if (isTimed) {
      log.info({ seconds }, 'changes in the database are published at once');
    } else {
      const missing = withoutUpdatedAt.map((table) => `${table}.updated_at`).join(', ');
      log.info(
        `changes are published only at the times of GENERATE_CRON: the database does not have ${missing}`,
      );
    }
    return opened;
  }

  async function pollOnce(): Promise<void> {
    if (isTimed === false || performance.now() < nextAt) return;
    try {
      const opened = await open();
      if (!isTimed) return await close();
      const started = performance.now();
      const state = await readTableState(opened);
      const taken = performance.now() - started;
      nextAt = performance.now() + taken * PAUSES_PER_POLL;
      if (taken > SLOW_POLL && !wasSlow) {
        wasSlow = true;
        log.warn(
          `asking the database for changes takes ${Math.round(taken)} ms: indexes on updated_at in games, covers and cover_files make it faster`,
        );
      }
      const known = before;
      if (known?.all === state.all) return;
      const isUrgent = known !== undefined && (await isTakedown(opened, known, state));
      before = state;
      request(isUrgent);
    } catch (error) {
      await close();
      throw error;
    }
  }

  async function close(): Promise<void> {
    const old = database;
    database = undefined;
    await old?.close().catch(() => {});
  }

  const polling = poll(tasks.observe('poll_changes', pollOnce), seconds * 1000, ({ message }) =>
    log.error(`the database cannot be asked for changes: ${message}`),
  );
  void polling.start();

  return {
    /** Requests a run at the next poll, even if nothing has changed until then. */
    forget() {
      before = undefined;
    },
    async stop() {
      await Promise.race([polling.stop().then(close), pause(LONGEST_STOP_MS)]);
    },
  };
}
