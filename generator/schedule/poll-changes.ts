/**
 * Polls the database for changes, and requests a run when there is one. Where the tables have indexes on
 * `updated_at`, polls of these see a change within a second, and the state of the tables, which takes longer to read,
 * shows what such an index does not: deleted rows, for example. While the database cannot be read, nothing is
 * requested; the runs of GENERATE_CRON continue. An operator may add or remove `updated_at` and its indexes at any
 * time, so they are looked for again.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Database } from '../../lib/database/database.ts';
import { openDatabase } from '../../lib/database/open.ts';
import { checkCatalogue, UPDATED_AT } from '../../lib/database/schema.ts';
import { NothingToDo, type Tasks } from '../../lib/program/admin/tasks.ts';
import { poll } from '../../lib/program/poll.ts';
import type { Urgency } from './pace-runs.ts';
import { type RecentChange, RecentPolls } from './recent-polls.ts';
import { isTakedown, POLLED_TABLES, readTableState, type TableState } from './table-state.ts';

/**
 * The tables are read this often even if nothing seems to have happened to them. A commit that leaves the
 * counts and latest times as they were (an older time, or a latest time in the future) leads to a run only
 * after this long.
 */
const LONGEST_TRUST_MS = 60_000;
/**
 * While the database can tell whether a table has changed, there are this many polls in CHANGE_POLL_SECONDS.
 * So a change is seen sooner, for half a millisecond of the server's time.
 */
const MARKS_PER_POLL = 4;
/** The share of the time that polls take at most in the long run. */
const SHARE = 1 / 10;
/** The most time that can be saved up for slow polls, in milliseconds. */
const MOST_SAVED = 2_000;
const LONGEST_STOP_MS = 2_000;

interface PollOptions {
  readonly databaseUrl: string;
  readonly snapshotsDir: string;
  readonly seconds: number;
  readonly tasks: Tasks;
  readonly log: Logger;
  /** @param isRecent whether a run of recent changes is enough */
  readonly request: (urgency: Urgency, isRecent: boolean) => void;
  /** Whether a run is under way. */
  readonly isRunning: () => boolean;
  /** A monotonic clock in milliseconds. */
  readonly now?: () => number;
}

/** Starts to poll. While the database cannot show what has changed, polls only find out whether it can. */
export function pollChanges(options: PollOptions) {
  const { seconds, tasks, log } = options;
  const changes = new ChangePolls(options);
  const start = (task: string, work: () => Promise<unknown>, pauseOf: () => number) => {
    const polling = poll(tasks.observe(task, work), pauseOf, ({ message }) =>
      log.error(`cannot poll the database for changes: ${message}`),
    );
    void polling.run();
    return polling;
  };
  const states = start('poll_changes', changes.pollState, () =>
    Math.max((seconds * 1000) / changes.perInterval(), changes.share.pause()),
  );
  const recent = start('poll_recent_changes', changes.pollRecent, () =>
    Math.max((seconds * 1000) / MARKS_PER_POLL, changes.recentShare.pause()),
  );
  const end = () => Promise.all([states.stop(), recent.stop()]).then(changes.close);
  return {
    /** Polls now. Resolves when the poll has ended. */
    now: states.run,
    /** Polls the indexes now. */
    recent: recent.run,
    forget: changes.forget,
    stop: () => Promise.race([end(), pause(LONGEST_STOP_MS)]),
  };
}

class ChangePolls {
  private readonly options: PollOptions;
  private readonly now: () => number;
  readonly share: TimeShare;
  readonly recentShare: TimeShare;
  private database: Database | undefined;
  /** Whether the tables were found to have `updated_at` since the database was opened. */
  private isTimed = false;
  /** The columns that were found to be missing last, as they are named in the log. */
  private lastMissing: string | undefined;
  private readonly recent: RecentPolls;
  private lastUnindexed = '';
  /** What the indexes have shown since the state was read last. */
  private shown: RecentChange = 'nothing';
  private before: TableState | undefined;
  /** The {@link Database.changeMark} of the last reading of the tables; undefined if they must be read. */
  private lastMark: string | undefined;
  private hasMark = true;
  private readAt = Number.NEGATIVE_INFINITY;
  /** Whether there was a commit since the last request that did not change the state. */
  private isInDoubt = false;
  private requestedAt = Number.NEGATIVE_INFINITY;
  /** Whether the next run must not wait, because an urgent one has failed. */
  private isRetryUrgent = false;

  constructor(options: PollOptions) {
    this.options = options;
    this.now = options.now ?? (() => performance.now());
    this.share = new TimeShare(this.now);
    this.recentShare = new TimeShare(this.now);
    this.recent = new RecentPolls(options.snapshotsDir);
  }

  readonly pollState = async (): Promise<NothingToDo | undefined> => {
    try {
      this.database ??= await openDatabase(this.options.databaseUrl);
      const { database } = this;
      const reason = await this.findReason(database);
      if (reason !== undefined) return new NothingToDo(reason);
      await this.checkIndexes(database);
      // What is found now would have to wait for the run that is under way, which needs the time of the server.
      if (this.recent.hasIndexes() && this.options.isRunning()) return undefined;
      const state = await this.readIfChanged(database);
      // Only now: `forget` may have been called while the database was asked.
      const { before } = this;
      if (state !== undefined && state.all !== before?.all) {
        this.before = state;
        let urgency: Urgency = 'urgent';
        try {
          urgency = await this.urgencyOf(database, before, state);
        } finally {
          // Also if that cannot be told: nothing else shows this change.
          this.request(urgency);
        }
      } else if (this.isInDoubt && this.now() >= this.requestedAt + LONGEST_TRUST_MS) {
        this.request('run');
      }
    } catch (error) {
      await this.close();
      throw error;
    }
  };

  /** Polls the indexes on `updated_at`. */
  readonly pollRecent = async (): Promise<NothingToDo | undefined> => {
    const { database, recent } = this;
    if (database === undefined || !recent.hasIndexes())
      return new NothingToDo(`there are no indexes on ${UPDATED_AT} that polls can use`);
    const started = this.now();
    try {
      const found = await recent.poll(database);
      if (found === 'nothing') return undefined;
      if (this.shown !== 'takedown') this.shown = found;
      this.options.request(found === 'takedown' ? 'urgent' : 'run', true);
    } catch (error) {
      await this.close();
      throw error;
    } finally {
      this.recentShare.use(this.now() - started);
    }
  };

  /** Requests a run at the next poll, whatever has changed. @param isUrgent whether it must not wait */
  readonly forget = (isUrgent: boolean): void => {
    this.before = undefined;
    this.isRetryUrgent = isUrgent;
    this.lastMark = undefined;
  };

  readonly close = async (): Promise<void> => {
    const { database } = this;
    this.database = undefined;
    this.isTimed = false;
    this.recent.reset();
    this.lastMark = undefined;
    await database?.close().catch(() => {});
  };

  /** How many polls there are in the time of CHANGE_POLL_SECONDS. */
  perInterval(): number {
    return this.isTimed && this.hasMark ? MARKS_PER_POLL : 1;
  }

  /** @returns why polls cannot show changes; undefined if they can */
  private async findReason(database: Database): Promise<string | undefined> {
    if (this.isTimed) return undefined;
    const { log, seconds } = this.options;
    const started = this.now();
    const { withoutUpdatedAt } = await checkCatalogue(database);
    this.share.use(this.now() - started);
    const missing = withoutUpdatedAt.map((table) => `${table}.${UPDATED_AT}`).join(', ');
    const reason = `the database does not have ${missing}`;
    this.isTimed = missing === '';
    if (missing !== this.lastMissing) {
      if (this.isTimed) log.info({ seconds }, 'changes in the database are published at once');
      else log.info(`changes are published only at the times of GENERATE_CRON: ${reason}`);
    }
    this.lastMissing = missing;
    return this.isTimed ? undefined : reason;
  }

  private async checkIndexes(database: Database): Promise<void> {
    const started = this.now();
    const names = (await this.recent.checkIndexes(database, started))?.join(', ');
    this.share.use(this.now() - started);
    if (names && names !== this.lastUnindexed)
      this.options.log.info(
        `changes are found sooner with indexes on ${names}: cover-catalogue doctor says which`,
      );
    this.lastUnindexed = names ?? this.lastUnindexed;
  }

  /** How urgent a whole run is after a changed state: no more than owed if the indexes have shown the change. */
  private async urgencyOf(
    database: Database,
    before: TableState | undefined,
    state: TableState,
  ): Promise<Urgency> {
    await this.pollRecent();
    const { shown } = this;
    this.shown = 'nothing';
    if (this.isRetryUrgent) return 'urgent';
    if (before === undefined) return 'run';
    if (shown !== 'takedown' && (await isTakedown(database, before, state))) return 'urgent';
    return shown === 'nothing' ? 'run' : 'owed';
  }

  /** @returns undefined if nothing has happened to the tables since the last reading */
  private async readIfChanged(database: Database): Promise<TableState | undefined> {
    const started = this.now();
    // Read first: a change after it gives another mark, and so the next call reads the tables again.
    const mark = await database.changeMark(POLLED_TABLES);
    this.hasMark = mark !== undefined;
    const isSame = this.hasMark && mark === this.lastMark;
    const isTrusted = isSame && this.now() < this.readAt + LONGEST_TRUST_MS;
    let state: TableState | undefined;
    if (!isTrusted) {
      this.isInDoubt ||= this.hasMark && this.lastMark !== undefined && !isSame;
      // Before the tables are read: after a call of `forget`, the next poll must read them again.
      this.lastMark = mark;
      state = await readTableState(database);
      this.readAt = this.now();
    }
    this.share.use(this.now() - started);
    return state;
  }

  private request(urgency: Urgency): void {
    this.isInDoubt = false;
    this.isRetryUrgent = false;
    this.requestedAt = this.now();
    this.options.request(urgency, false);
  }
}

/**
 * Keeps polls within their share of the time of one core of the server. Time that was not used is saved up,
 * so that a poll which is slow once, because a run is under way, does not delay the next takedown.
 */
export class TimeShare {
  private readonly now: () => number;
  private saved = MOST_SAVED;
  private countedAt: number;

  /** @param now a monotonic clock in milliseconds */
  constructor(now: () => number) {
    this.now = now;
    this.countedAt = now();
  }

  /** Call it at the end of a poll. @param milliseconds how long the poll took */
  use(milliseconds: number): void {
    const earned = (this.now() - this.countedAt) * SHARE;
    this.saved = Math.min(MOST_SAVED, this.saved + earned) - milliseconds;
    this.countedAt = this.now();
  }

  /** How many milliseconds to wait before the next poll. */
  pause(): number {
    return Math.max(0, -this.saved / SHARE);
  }
}
