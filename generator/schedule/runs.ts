/** Runs the generator for the schedule: each run is a process of its own, and they never overlap. */
import { type ChildProcess, spawn } from 'node:child_process';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Logger } from 'pino';

/** Starts runs, too: it has the flags of Node that a run needs, with their reasons. */
const EXECUTABLE = path.join(import.meta.dirname, '../../bin/cover-catalogue');

/** How runs end that write `status.json`. */
export const STATUS_OUTCOMES = ['published', 'unchanged', 'refused', 'held', 'failed'] as const;
export const RUN_OUTCOMES = [...STATUS_OUTCOMES, 'locked'] as const;
type RunOutcome = (typeof RUN_OUTCOMES)[number];

/** How a run ended. */
export interface RunEnding {
  readonly outcome: RunOutcome;
  readonly seconds: number;
  /** What went wrong, or null. */
  readonly error: string | null;
}

/** What `--json` prints. */
interface PrintedResult {
  readonly outcome: RunOutcome;
  readonly left_out: readonly string[];
  readonly warnings: readonly string[];
  readonly report: unknown;
}

/** @param isHeld while it returns true, no run starts */
export function makeRuns(isHeld: () => boolean, onEnd: (ending: RunEnding) => void, log: Logger) {
  let running: ChildProcess | undefined;
  let isStopping = false;
  let underWay = Promise.resolve(true);

  async function run(): Promise<boolean> {
    const started = performance.now();
    const child = spawn(EXECUTABLE, ['generate', '--json'], {
      stdio: ['ignore', 'pipe', 'pipe'],
      // This program pushes what a run publishes, and tries again if that fails.
      env: { ...process.env, SNAPSHOT_PUSH: '' },
    });
    running = child;
    let lastLine = '';
    createInterface({ input: child.stderr }).on('line', (line) => {
      lastLine = line;
      log.debug({ run: child.pid }, line);
    });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      output += text;
    });
    /** The exit code, or why there is none. */
    const code = await new Promise<number | string>((resolve) => {
      child.once('error', (error) => resolve(error.message));
      child.once('close', (exit, signal) => resolve(exit ?? signal ?? 'nothing'));
    });
    running = undefined;
    if (isStopping && code !== 0) {
      log.info('the run that was under way was stopped');
      return false;
    }
    const result = parseResult(output);
    const outcome = outcomeOf(code, result);
    onEnd({
      outcome,
      seconds: (performance.now() - started) / 1000,
      error: outcome === 'published' || outcome === 'unchanged' ? null : lastLine,
    });
    if (code === 0 && result !== undefined) {
      // The report is in a file.
      const { left_out: leftOut, warnings, report: _, ...others } = result;
      for (const line of leftOut) log.warn(`Left out: ${line}.`);
      for (const line of warnings) log.warn(`${line}.`);
      log.info(others, 'generated');
    } else if (outcome === 'locked') log.warn(lastLine);
    else if (outcome === 'held') log.info('the run that was under way published nothing');
    else log.error({ code }, `the generator failed: ${lastLine}`);
    // A refused run has read everything: it would be refused again.
    return code === 0 || outcome === 'refused';
  }

  function outcomeOf(code: number | string, result: PrintedResult | undefined): RunOutcome {
    if (code === 0) return result?.outcome ?? 'failed';
    if (code === 4) return 'locked';
    if (code === 3) return isHeld() ? 'held' : 'refused';
    return 'failed';
  }

  /** Starts a run, unless one is under way. @returns whether it has read the catalogue, once it has ended */
  async function start(): Promise<boolean> {
    // The generator checks for a hold, too, but opens the database first.
    if (running !== undefined || isHeld()) return false;
    underWay = run();
    return underWay;
  }

  return {
    start,
    /** As {@link start}, after the run that is under way. */
    async startNext(): Promise<boolean> {
      await underWay;
      return start();
    },
    /** Ends the run under way. */
    async stop(): Promise<void> {
      isStopping = true;
      running?.kill('SIGTERM');
      await underWay;
    },
  };
}

/** @returns undefined if the run ended before it printed a result */
function parseResult(output: string): PrintedResult | undefined {
  try {
    return JSON.parse(output);
  } catch {
    return undefined;
  }
}
