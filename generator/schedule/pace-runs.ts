/**
 * Starts a requested run at once if it is urgent. Otherwise waits until `milliseconds` have passed since the last
 * requested run began. Requests during a run lead to one more run.
 *
 * A run is of the *recent* changes, or *whole*: then it finds what an index on `updated_at` does not show, too. A run
 * that was requested is followed by a whole one, which finds a change that got the same `updated_at` as an earlier one.
 * That one delays no request, so a change after a quiet time is published at once.
 */

/** An urgent run that has failed more often waits like any other, so that it does not fill the log. */
const URGENT_TRIES = 10;
/** How often an urgent run of recent changes goes before a whole one, which then ends first. */
const MOST_YIELDS = 3;

/** How a run ended: whether it has read the database. */
export type RunEnd = 'read' | 'not read' | 'gave way';

interface PaceOptions {
  readonly milliseconds: number;
  /** Runs once; never rejects. */
  run(isRecent: boolean): Promise<RunEnd>;
  /** Ends the run under way if it is a whole one. */
  giveWay(): void;
  /** Called after a run that has not read the database, with whether its next try must not wait. */
  onFailure(isUrgent: boolean): void;
}

/** In the order of their precedence. A whole run is owed after each run that was requested. */
const URGENCIES = ['none', 'owed', 'run', 'urgent'] as const;
export type Urgency = (typeof URGENCIES)[number];
const higher = (a: Urgency, b: Urgency) => (URGENCIES.indexOf(a) > URGENCIES.indexOf(b) ? a : b);

export function paceRuns({ milliseconds, run, giveWay, onFailure }: PaceOptions) {
  /** When the last requested run began. */
  let startedAt = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  let isRunning = false;
  let isStopped = false;
  let failures = 0;
  let yields = 0;
  /** What was requested since the last run began: runs of recent changes, and whole ones. */
  let recent: Urgency = 'none';
  let whole: Urgency = 'none';
  /** When a whole run was first requested since the last one. */
  let wholeSince = 0;

  function requestWhole(urgency: Urgency): void {
    if (whole === 'none') wholeSince = performance.now();
    whole = higher(whole, urgency);
  }

  function plan(): void {
    clearTimeout(timer);
    const urgency = higher(recent, whole);
    if (isRunning || isStopped || urgency === 'none') return;
    const wait = startedAt + milliseconds - performance.now();
    timer = setTimeout(start, urgency === 'urgent' ? 0 : Math.max(0, wait));
  }

  async function start(): Promise<void> {
    const isDue = whole === 'urgent' || performance.now() >= wholeSince + milliseconds;
    const isLate = whole !== 'none' && isDue;
    const goesFirst = recent === 'urgent' && (!isLate || yields < MOST_YIELDS);
    const isRecent = goesFirst || whole === 'none';
    if (isRecent && isLate) yields++;
    const urgency = isRecent ? recent : higher(recent, whole);
    recent = 'none';
    const wanted = whole;
    if (!isRecent) whole = 'none';
    isRunning = true;
    if (urgency !== 'owed') startedAt = performance.now();
    const end = await run(isRecent);
    isRunning = false;
    if (end === 'gave way') {
      whole = higher(whole, wanted);
      wholeSince = Number.NEGATIVE_INFINITY;
    } else if (end === 'not read') onFailure(urgency === 'urgent' && ++failures < URGENT_TRIES);
    else {
      failures = 0;
      if (!isRecent) yields = 0;
      if (urgency !== 'owed') requestWhole('owed');
    }
    plan();
  }

  return {
    /** @param isRecent whether a run of recent changes is enough */
    request(urgency: Urgency, isRecent: boolean): void {
      if (isRecent) recent = higher(recent, urgency);
      else requestWhole(urgency);
      if (recent === 'urgent' && yields < MOST_YIELDS) giveWay();
      plan();
    },
    stop(): void {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
