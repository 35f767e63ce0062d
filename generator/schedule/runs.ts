/** Runs the generator for the schedule: each run is a process of its own, and they never overlap. */
import { type ChildProcess, spawn } from 'node:child_process';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Logger } from 'pino';
import type { RunEnd } from './pace-runs.ts';

/** Starts runs, too: it has the flags of Node that a run needs, with their reasons. */
const EXECUTABLE = path.join(import.meta.dirname, '../../bin/cover-catalogue');

/** How runs end that write `status.json`. */
export const STATUS_OUTCOMES = ['published', 'unchanged', 'refused', 'held', 'failed'] as const;
export const RUN_OUTCOMES = [...STATUS_OUTCOMES, 'locked'] as const;
type RunOutcome = (typeof RUN_OUTCOMES)[number];

/** How the process of a run ended. */
export interface ProcessEnd {
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

export class Runs {
  private readonly isHeld: () => boolean;
  private readonly onEnd: (ending: ProcessEnd) => void;
  private readonly log: Logger;
  private running: ChildProcess | undefined;
  private isRecent = false;
  private isGivingWay = false;
  private underWay = Promise.resolve<RunEnd>('read');
  private isStopping = false;

  /** @param isHeld while it returns true, no run starts */
  constructor(isHeld: () => boolean, onEnd: (ending: ProcessEnd) => void, log: Logger) {
    this.isHeld = isHeld;
    this.onEnd = onEnd;
    this.log = log;
  }

  /**
   * Starts a run, unless one is under way, or {@link stop} was called.
   * @param isRecent whether it reads only the recent changes @returns how it ended, once it has
   */
  readonly start = async (isRecent = false): Promise<RunEnd> => {
    // The generator checks for a hold, too, but opens the database first.
    if (this.isStopping || this.isRunning() || this.isHeld()) return 'not read';
    this.isRecent = isRecent;
    this.underWay = this.run();
    return this.underWay;
  };

  /** As {@link start}, after the run that is under way. */
  readonly startNext = async (isRecent: boolean): Promise<RunEnd> => {
    await this.underWay;
    return this.start(isRecent);
  };

  readonly isRunning = (): boolean => this.running !== undefined;

  /** Ends the run under way, unless it reads only the recent changes. */
  readonly giveWay = (): void => {
    if (!this.isRunning() || this.isRecent) return;
    this.isGivingWay = true;
    this.running?.kill('SIGTERM');
  };

  /** Ends the run under way, and starts no other. */
  async stop(): Promise<void> {
    this.isStopping = true;
    this.running?.kill('SIGTERM');
    await this.underWay;
  }

  private async run(): Promise<RunEnd> {
    const started = performance.now();
    const how = this.isRecent ? ['--recent'] : [];
    const child = spawn(EXECUTABLE, ['generate', '--json', ...how], {
      stdio: ['ignore', 'pipe', 'pipe'],
      // This program pushes what a run publishes, and tries again if that fails.
      env: { ...process.env, SNAPSHOT_PUSH: '' },
    });
    this.running = child;
    let lastLine = '';
    createInterface({ input: child.stderr }).on('line', (line) => {
      lastLine = line;
      this.log.debug({ run: child.pid }, line);
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
    this.running = undefined;
    const { isGivingWay } = this;
    this.isGivingWay = false;
    if (this.isStopping && code !== 0) {
      this.log.info('the run that was under way was stopped');
      return 'not read';
    }
    if (isGivingWay && code !== 0) {
      this.log.info(
        'the run that was under way gives way to a takedown, and begins again after it',
      );
      return 'gave way';
    }
    const result = code === 0 ? parseResult(output) : undefined;
    const outcome = this.outcomeOf(code, result);
    const error = outcome === 'published' || outcome === 'unchanged' ? null : lastLine;
    this.onEnd({ outcome, seconds: (performance.now() - started) / 1000, error });
    this.logEnding(outcome, result, code, lastLine);
    // A refused run has read everything: it would be refused again.
    return result !== undefined || outcome === 'refused' ? 'read' : 'not read';
  }

  private outcomeOf(code: number | string, result: PrintedResult | undefined): RunOutcome {
    if (code === 0) return result?.outcome ?? 'failed';
    if (code === 4) return 'locked';
    if (code === 3) return this.isHeld() ? 'held' : 'refused';
    return 'failed';
  }

  private logEnding(
    outcome: RunOutcome,
    result: PrintedResult | undefined,
    code: number | string,
    lastLine: string,
  ): void {
    if (result !== undefined) {
      // The report is in a file.
      const { left_out: leftOut, warnings, report: _, ...others } = result;
      for (const line of leftOut) this.log.warn(`Left out: ${line}.`);
      for (const line of warnings) this.log.warn(`${line}.`);
      this.log.info(others, 'generated');
    } else if (outcome === 'locked') this.log.warn(lastLine);
    else if (outcome === 'held') this.log.info('the run that was under way published nothing');
    else if (outcome === 'refused') this.log.error(lastLine);
    else this.log.error({ code }, `the generator failed: ${lastLine}`);
  }
}

/** @returns undefined if the run ended before it printed a result */
function parseResult(output: string): PrintedResult | undefined {
  try {
    return JSON.parse(output);
  } catch {
    return undefined;
  }
}
