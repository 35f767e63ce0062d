/**
 * Polls the database for changes, and requests a run when there is one. While the database cannot be read,
 * nothing is requested; the runs of GENERATE_CRON go on. An operator may add or remove `updated_at` at any
 * time, so it is looked for again.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Database } from '../../lib/database/database.ts';
import { openDatabase } from '../../lib/database/open.ts';
import { checkCatalogue, UPDATED_AT } from '../../lib/database/schema.ts';
import { NothingToDo, type Tasks } from '../../lib/program/admin/tasks.ts';
import { poll } from '../../lib/program/poll.ts';
import { isTakedown, POLLED_TABLES, readTableState, type TableState } from './table-state.ts';

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
/** The share of the time that polls take at most in the long run. */
const SHARE = 1 / 10;
/** The most time that can be saved up for slow polls, in milliseconds. */
const MOST_SAVED = 2_000;
const LONGEST_STOP_MS = 2_000;

/** Starts to poll. While the database cannot show what has changed, polls only find out whether it can. */
export function pollChanges(options: {
  readonly databaseUrl: string;
  readonly seconds: number;
  readonly tasks: Tasks;
  readonly log: Logger;
  /** @param isUrgent whether the run must not wait */
  readonly request: (isUrgent: boolean) => void;
  /** A monotonic clock in milliseconds. */
  readonly now?: () => number;
}) {
  const { databaseUrl, seconds, tasks, log, request, now = () => performance.now() } = options;
  const share = makeTimeShare(now);
  let database: Database | undefined;
  /** Whether the tables were found to have `updated_at` since the database was opened. */
  let isTimed = false;
  /** The columns that were found to be missing last, as they are named in the log. */
  let lastMissing: string | undefined;
  let before: TableState | undefined;
  /** The {@link Database.changeMark} of the last reading of the tables; undefined if they must be read. */
  let lastMark: string | undefined;
  let readAt = Number.NEGATIVE_INFINITY;
  /** Whether there was a commit since the last request that did not change the state. */
  let isInDoubt = false;
  let requestedAt = Number.NEGATIVE_INFINITY;
  /** Whether the next run must not wait, because an urgent one has failed. */
  let isRetryUrgent = false;
  let wasSlow = false;
  let hasMark = true;

  /** @returns why polls cannot show changes; undefined if they can */
  async function findReason(opened: Database): Promise<string | undefined> {
    if (isTimed) return undefined;
    const started = now();
    const { withoutUpdatedAt } = await checkCatalogue(opened);
    share.use(now() - started);
    const missing = withoutUpdatedAt.map((table) => `${table}.${UPDATED_AT}`).join(', ');
    const reason = `the database does not have ${missing}`;
    isTimed = missing === '';
    if (missing !== lastMissing) {
      lastMissing = missing;
      if (isTimed) log.info({ seconds }, 'changes in the database are published at once');
      else log.info(`changes are published only at the times of GENERATE_CRON: ${reason}`);
    }
    return isTimed ? undefined : reason;
  }

  async function pollOnce(): Promise<NothingToDo | undefined> {
    try {
      database ??= await openDatabase(databaseUrl);
      const opened = database;
      const reason = await findReason(opened);
      if (reason !== undefined) return new NothingToDo(reason);
      const started = now();
      const state = await readIfChanged(opened);
      const taken = now() - started;
      share.use(taken);
      if (taken > SLOW_POLL && !wasSlow) {
        wasSlow = true;
        log.warn(
          `asking the database for changes takes ${Math.round(taken)} ms: make sure that games, covers and cover_files have indexes on updated_at`,
        );
      }
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

  /** @returns undefined if nothing has happened to the tables since the last reading */
  async function readIfChanged(database: Database): Promise<TableState | undefined> {
    // Read first: a change after it gives another mark, and so the next call reads the tables again.
    const mark = await database.changeMark(POLLED_TABLES);
    hasMark = mark !== undefined;
    const isSame = hasMark && mark === lastMark;
    if (isSame && now() < readAt + LONGEST_TRUST_MS) return undefined;
    const hasCommit = hasMark && lastMark !== undefined && !isSame;
    const state = await readTableState(database);
    lastMark = mark;
    readAt = now();
    isInDoubt ||= hasCommit;
    return state;
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
    isTimed = false;
    lastMark = undefined;
    await old?.close().catch(() => {});
  }

  const polling = poll(
    tasks.observe('poll_changes', pollOnce),
    () => Math.max((seconds * 1000) / (isTimed && hasMark ? MARKS_PER_POLL : 1), share.pause()),
    ({ message }) => log.error(`the database cannot be asked for changes: ${message}`),
  );
  void polling.start();

  return {
    /** Polls now. Resolves when the poll has ended. */
    now: polling.now,
    /** Requests a run at the next poll, whatever has changed. @param isUrgent whether it must not wait */
    forget(isUrgent: boolean) {
      before = undefined;
      isRetryUrgent = isUrgent;
      lastMark = undefined;
    },
    stop: () => Promise.race([polling.stop().then(close), pause(LONGEST_STOP_MS)]),
  };
}

/**
 * Keeps polls within their share of the time of one core of the server. Time that was not used is saved up,
 * so that a poll which is slow once, because a run is under way, does not delay the next takedown.
 * @param now a monotonic clock in milliseconds
 */
export function makeTimeShare(now: () => number) {
  let saved = MOST_SAVED;
  let countedAt = now();
  return {
    /** Call it at the end of a poll. @param milliseconds how long the poll took */
    use(milliseconds: number): void {
      const earned = (now() - countedAt) * SHARE;
      saved = Math.min(MOST_SAVED, saved + earned) - milliseconds;
      countedAt = now();
    },
    /** How many milliseconds to wait before the next poll. */
    pause: () => Math.max(0, -saved / SHARE),
  };
}
