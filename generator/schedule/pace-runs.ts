/**
 * Starts a requested run at once if it is urgent. Otherwise waits until `milliseconds` have passed since the
 * last run began. Requests during a run lead to one more run. A run that was requested is followed by a check, which
 * finds a change that got the same `updated_at` as an earlier one.
 */

/** An urgent run that has failed more often waits like any other, so that it does not fill the log. */
const URGENT_TRIES = 10;

/**
 * @param run runs once; never rejects, and tells whether the run has read the database
 * @param onFailure called after a run that has not, with whether its next try must not wait
 */
export function paceRuns(
  milliseconds: number,
  run: () => Promise<boolean>,
  onFailure: (isUrgent: boolean) => void,
) {
  let startedAt = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  let isRunning = false;
  let isStopped = false;
  let failures = 0;
  /** What was requested since the last run began. */
  let requested: 'nothing' | 'check' | 'run' | 'urgent run' = 'nothing';

  function plan(): void {
    clearTimeout(timer);
    if (isRunning || isStopped || requested === 'nothing') return;
    const wait = startedAt + milliseconds - performance.now();
    timer = setTimeout(start, requested === 'urgent run' ? 0 : Math.max(0, wait));
  }

  async function start(): Promise<void> {
    const isCheck = requested === 'check';
    const isUrgent = requested === 'urgent run';
    requested = 'nothing';
    isRunning = true;
    startedAt = performance.now();
    const hasRead = await run();
    isRunning = false;
    failures = hasRead ? 0 : failures + 1;
    if (!hasRead) onFailure(isUrgent && failures < URGENT_TRIES);
    else if (!isCheck && requested === 'nothing') requested = 'check';
    plan();
  }

  return {
    /** @param isUrgent whether the run must not wait */
    request(isUrgent: boolean): void {
      if (isUrgent) requested = 'urgent run';
      else if (requested !== 'urgent run') requested = 'run';
      plan();
    },
    stop(): void {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
