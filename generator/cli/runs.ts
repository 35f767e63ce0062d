/** Runs the generator for the schedule: each run is a process of its own, and they never overlap. */
import { type ChildProcess, spawn } from 'node:child_process';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Logger } from 'pino';
import { compileCacheIn } from './compile-cache.ts';

const GENERATOR = path.join(import.meta.dirname, 'main.ts');
/**
 * How `bin/cover-catalogue` starts a run, too. A larger young generation would only cost memory: the objects
 * of rows live for a short time.
 */
const GENERATOR_FLAGS = ['--max-semi-space-size=4'];
/** Keeps glibc from holding on to large blocks that are free. */
const GENERATOR_MEMORY = { MALLOC_MMAP_THRESHOLD_: '131072' };

export const RUN_OUTCOMES = [
  'published',
  'unchanged',
  'refused',
  'held',
  'locked',
  'failed',
] as const;
export type RunOutcome = (typeof RUN_OUTCOMES)[number];

/** How a run ended. */
export interface RunEnding {
  readonly outcome: RunOutcome;
  readonly seconds: number;
  /** What went wrong, or null. */
  readonly error: string | null;
  /** For each stage, its seconds; undefined if the run did not read all rows. */
  readonly stages: Readonly<Record<string, number>> | undefined;
}

/** What `--json` prints. */
interface PrintedResult {
  readonly outcome: RunOutcome;
  readonly left_out: readonly string[];
  readonly warnings: readonly string[];
  readonly report: unknown;
  readonly stages: Readonly<Record<string, number>>;
  readonly read_all_because: string | null;
}

export interface Runs {
  /** Starts a run, unless one is under way. @returns whether it has read the catalogue, once it has ended */
  start(): Promise<boolean>;
  /** As {@link start}, after the run that is under way. */
  startNext(): Promise<boolean>;
  /** Ends the run under way. */
  stop(): Promise<void>;
}

/** @param isHeld while it returns true, no run starts */
export function makeRuns(
  snapshotsDir: string,
  isHeld: () => boolean,
  onEnd: (ending: RunEnding) => void,
  log: Logger,
): Runs {
  let running: ChildProcess | undefined;
  let isStopping = false;
  let underWay: Promise<boolean> = Promise.resolve(true);

  function start(): Promise<boolean> {
    // The generator checks for a hold, too, but opens the database first.
    if (running !== undefined || isHeld()) return Promise.resolve(false);
    underWay = run();
    return underWay;
  }

  async function startNext(): Promise<boolean> {
    await underWay;
    return start();
  }

  async function run(): Promise<boolean> {
    const started = performance.now();
    const child = spawn(process.execPath, [...GENERATOR_FLAGS, GENERATOR, '--json'], {
      stdio: ['ignore', 'pipe', 'pipe'],
      // This program pushes what a run publishes, and tries again if that fails.
      env: {
        ...GENERATOR_MEMORY,
        ...process.env,
        ...compileCacheIn(snapshotsDir),
        SNAPSHOT_PUSH: '',
      },
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
    const outcome = outcomeOf(code, result, isHeld);
    onEnd({
      outcome,
      seconds: (performance.now() - started) / 1000,
      error: outcome === 'published' || outcome === 'unchanged' ? null : lastLine,
      stages: result === undefined || result.read_all_because === null ? undefined : result.stages,
    });
    if (code === 0 && result !== undefined) logResult(result, log);
    else if (outcome === 'locked') log.warn(lastLine);
    else if (outcome === 'held') log.info('the run that was under way published nothing');
    else log.error({ code }, `the generator failed: ${lastLine}`);
    // A refused run has read everything: it would be refused again.
    return code === 0 || outcome === 'refused';
  }

  async function stop(): Promise<void> {
    isStopping = true;
    const child = running;
    if (child === undefined) return;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    await gone;
  }

  return { start, startNext, stop };
}

/** @param code the exit code, or why there is none */
function outcomeOf(
  code: number | string,
  result: PrintedResult | undefined,
  isHeld: () => boolean,
): RunOutcome {
  if (code === 0) return result?.outcome ?? 'failed';
  if (code === 4) return 'locked';
  if (code === 3) return isHeld() ? 'held' : 'refused';
  return 'failed';
}

/** @returns undefined if the run ended before it printed a result */
function parseResult(output: string): PrintedResult | undefined {
  try {
    return JSON.parse(output);
  } catch {
    return undefined;
  }
}

/** Logs a result without its report, which is in a file. */
function logResult(
  { left_out: leftOut, warnings, report: _, ...result }: PrintedResult,
  log: Logger,
): void {
  for (const line of leftOut) log.warn(`Left out: ${line}.`);
  for (const line of warnings) log.warn(`${line}.`);
  log.info(result, 'generated');
}
