/**
 * Polls the database for changes, and requests a run when there is one. While the database cannot be read,
 * nothing is requested; the runs of GENERATE_CRON go on. In the long run, polls take at most a twentieth of
 * the time of one core of the server.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Database } from '../../database/database.ts';
import { openDatabase } from '../../database/open.ts';
import { checkCatalogue } from '../../database/schema.ts';
import type { Tasks } from '../../program/admin/tasks.ts';
import { poll } from '../../program/poll.ts';
import { isTakedown, POLLED_TABLES, readTableState, type TableState } from './table-state.ts';
import { makeTimeShare } from './time-share.ts';

/** In milliseconds: a poll that takes longer is reported once, with the fix. */
const SLOW_POLL = 250;
/**
 * The tables are read this often even if nothing seems to have happened to them. A commit that leaves the
 * counts and latest times as they were (an older time, or a latest time in the future) leads to a run only
 * after this long.
 */
const LONGEST_TRUST_MS = 60_000;
/**
 * While the database can tell whether a table has changed, it is asked this many times in the time of one
 * poll. So a change is seen sooner, for half a millisecond of the server's time.
 */
const MARKS_PER_POLL = 4;
const LONGEST_STOP_MS = 2_000;

export interface ChangePollOptions {
  readonly databaseUrl: string;
  readonly seconds: number;
  readonly tasks: Tasks;
  readonly log: Logger;
  /** @param isUrgent whether the run must not wait */
  readonly request: (isUrgent: boolean) => void;
  /** A monotonic clock in milliseconds. */
  readonly now?: () => number;
}

/** Starts to poll, unless the database cannot show what has changed. */
export function pollChanges({
  databaseUrl,
  seconds,
  tasks,
  log,
  request,
  now = () => performance.now(),
}: ChangePollOptions) {
  let database: Database | undefined;
  let isTimed: boolean | undefined;
  let before: TableState | undefined;
  /** Whether the next run must not wait, because an urgent one has failed. */
  let isRetryUrgent = false;
  const newReader = () => makeStateReader(now);
  let readState = newReader();
  /** Whether there was a commit since the last request that did not change the state. */
  let isInDoubt = false;
  let requestedAt = Number.NEGATIVE_INFINITY;
  const share = makeTimeShare(now);
  let wasSlow = false;
  let hasMark = true;

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
    if (isTimed === false) return;
    try {
      const opened = await open();
      if (!isTimed) return await close();
      const started = now();
      const { state, mark, hasCommit } = await readState(opened);
      hasMark = mark !== undefined;
      const taken = now() - started;
      share.use(taken);
      if (taken > SLOW_POLL && !wasSlow) {
        wasSlow = true;
        log.warn(
          `asking the database for changes takes ${Math.round(taken)} ms: make sure that games, covers and cover_files have indexes on updated_at`,
        );
      }
      isInDoubt ||= hasCommit;
      if (state !== undefined && state.all !== before?.all) {
        const isUrgent =
          before === undefined ? isRetryUrgent : await isTakedown(opened, before, state);
        before = state;
        requestRun(isUrgent);
      } else if (isInDoubt && now() >= requestedAt + LONGEST_TRUST_MS) {
        requestRun(false);
      }
    } catch (error) {
      await close();
      throw error;
    }
  }

  function requestRun(isUrgent: boolean): void {
    isInDoubt = false;
    isRetryUrgent = false;
    requestedAt = now();
    request(isUrgent);
  }

  async function close(): Promise<void> {
    const old = database;
    database = undefined;
    readState = newReader();
    await old?.close().catch(() => {});
  }

  const polling = poll(
    tasks.observe('poll_changes', pollOnce),
    () => Math.max((seconds * 1000) / (hasMark ? MARKS_PER_POLL : 1), share.pause()),
    ({ message }) => log.error(`the database cannot be asked for changes: ${message}`),
  );
  void polling.start();

  return {
    /** Polls now. Resolves when the poll has ended. */
    now: polling.now,
    /**
     * Requests a run at the next poll, even if nothing has changed until then.
     * @param isUrgent whether that run must not wait
     */
    forget(isUrgent: boolean) {
      before = undefined;
      isRetryUrgent = isUrgent;
      readState = newReader();
    },
    async stop() {
      await Promise.race([polling.stop().then(close), pause(LONGEST_STOP_MS)]);
    },
  };
}

interface PollResult {
  /** Undefined if nothing has happened to the tables since the last reading. */
  readonly state: TableState | undefined;
  /** See {@link Database.changeMark}. */
  readonly mark: string | undefined;
  /** Whether a change to the tables was committed since the last reading. False if that is not known. */
  readonly hasCommit: boolean;
}

/** @param now a monotonic clock in milliseconds */
function makeStateReader(now: () => number): (database: Database) => Promise<PollResult> {
  let lastMark: string | undefined;
  let readAt = Number.NEGATIVE_INFINITY;
  return async (database) => {
    // Read first: a change after it gives another mark, and so the next call reads the tables again.
    const mark = await database.changeMark(POLLED_TABLES);
    const isSame = mark !== undefined && mark === lastMark;
    if (isSame && now() < readAt + LONGEST_TRUST_MS) {
      return { state: undefined, mark, hasCommit: false };
    }
    const hasCommit = mark !== undefined && lastMark !== undefined && !isSame;
    const state = await readTableState(database);
    lastMark = mark;
    readAt = now();
    return { state, mark, hasCommit };
  };
}
