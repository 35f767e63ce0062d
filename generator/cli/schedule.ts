/**
 * `cover-catalogue schedule`: runs the generator at the times of GENERATE_CRON, one run at a time and
 * none while publishing is held. It exports the API keys every two seconds, even while publishing is
 * held, and pushes what becomes current to SNAPSHOT_PUSH. Each run is a process of its own: its memory is freed when it ends, and if it crashes, the
 * schedule continues.
 */
import '../../program/environment/node-version.ts';
import '../../program/stop.ts';
import { type ChildProcess, spawn } from 'node:child_process';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { schedule } from 'node-cron';
import type { Logger } from 'pino';
import { readArguments } from '../../program/arguments.ts';
import { loadEnvironmentFile, readEnvironment } from '../../program/environment/environment.ts';
import { reportFailure } from '../../program/failure.ts';
import { makeLog } from '../../program/log.ts';
import { stopWith } from '../../program/stop.ts';
import { currentId } from '../../store/generations/generations.ts';
import { whyHeld } from '../../store/hold.ts';
import { openKeysStore } from '../../store/keys/open-keys-store.ts';
import { checkPushAddress, PUSH_CHECKS, PUSH_VARIABLES } from '../../store/push/configured-push.ts';
import { pushChanges } from '../../store/push/push-changes.ts';
import { readSigningKeys } from '../../store/signatures/configured-keys.ts';
import { pollKeys } from '../keys/poll-keys.ts';
import { checkCron, NO_RUNS } from './cron.ts';

const USAGE = `cover-catalogue schedule

Publishes a generation whenever GENERATE_CRON says so, and exports the API keys
every two seconds, until SIGTERM or SIGINT. If SNAPSHOT_PUSH is set, pushes each
generation that becomes current to that store. If GENERATE_CRON is "off", it only
exports the keys and pushes, as for a mirror.

Exit codes: 0 stopped, 1 failed, 2 wrong usage or configuration.
`;
const GENERATOR = path.join(import.meta.dirname, 'main.ts');
/** The objects in the store of keys are small. */
const STORE_STALL_SECONDS = 10;
/** A larger young generation would only cost memory: the objects of rows live for a short time. */
const GENERATOR_FLAGS = ['--max-semi-space-size=8'];

async function main(): Promise<void> {
  readArguments(USAGE, {});
  loadEnvironmentFile();
  const environment = readEnvironment(
    [
      'DATABASE_URL',
      'SITE_URL',
      'SITE_LANGUAGE',
      'FILES_URL',
      'PUBLIC_URL',
      'GENERATE_CRON',
      'KEYS_STORE',
      'LOG_LEVEL',
      ...PUSH_VARIABLES,
    ],
    process.env,
    { ...PUSH_CHECKS, GENERATE_CRON: checkCron },
  );
  const { GENERATE_CRON: cron, SNAPSHOTS_DIR: snapshotsDir, SNAPSHOT_PUSH } = environment;
  checkPushAddress(SNAPSHOT_PUSH);
  const isOff = cron === NO_RUNS;
  const log = makeLog(environment.LOG_LEVEL);
  const isHeld = makeHoldWatch(snapshotsDir, log);
  const runs = makeRuns(isHeld, log);
  const task = isOff ? undefined : schedule(cron, runs.start, { noOverlap: true, timezone: 'UTC' });
  const keys = pollKeys({
    ...{ databaseUrl: environment.DATABASE_URL, snapshotsDir, log },
    signingKeys: readSigningKeys(environment.SNAPSHOT_SIGNING_KEY),
    store: openKeysStore(
      environment.KEYS_STORE,
      { SNAPSHOT_PUSH },
      { stallSeconds: STORE_STALL_SECONDS },
    ),
  });
  const pushes = SNAPSHOT_PUSH === '' ? undefined : pushChanges(snapshotsDir, process.env, log);
  stopWith(async (signal) => {
    log.info({ signal }, 'stopping');
    await task?.stop();
    await Promise.all([runs.stop(), keys.stop(), pushes?.stop()]);
  });
  log.info({ cron, snapshotsDir }, 'scheduled');
  if (!isOff && currentId(snapshotsDir) === undefined) void runs.start();
  else isHeld();
}

/** @returns a function that tells whether publishing is held, and logs a change since its last call */
function makeHoldWatch(snapshotsDir: string, log: Logger): () => boolean {
  let lastReason: string | undefined;
  return () => {
    const reason = whyHeld(snapshotsDir);
    if (reason !== undefined && reason !== lastReason) {
      log.warn(`${reason} Until then, runs are skipped and keys are still exported.`);
    } else if (reason === undefined && lastReason !== undefined) {
      log.info('publishing was released');
    }
    lastReason = reason;
    return reason !== undefined;
  };
}

/** Runs the generator, one run at a time and none while `isHeld` returns true. */
function makeRuns(isHeld: () => boolean, log: Logger) {
  let running: ChildProcess | undefined;

  /** Starts a run. The promise resolves when the run has ended. */
  async function start(): Promise<void> {
    // The generator checks for a hold, too, but opens the database first.
    if (running !== undefined || isHeld()) return;
    const child = spawn(process.execPath, [...GENERATOR_FLAGS, GENERATOR, '--json'], {
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
    let result = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      result += text;
    });
    const code = await new Promise<number | string>((resolve) => {
      child.once('error', (error) => resolve(error.message));
      child.once('close', (exit, signal) => resolve(exit ?? signal ?? 'nothing'));
    });
    running = undefined;
    if (code === 0) logResult(JSON.parse(result), log);
    else if (code === 4) log.warn(lastLine);
    else if (code === 3 && isHeld()) log.info('the run that was under way published nothing');
    else log.error({ code }, `the generator failed: ${lastLine}`);
  }

  async function stop(): Promise<void> {
    const child = running;
    if (child === undefined) return;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    await gone;
  }

  return { start, stop };
}

interface LoggedResult {
  readonly left_out: readonly string[];
  readonly warnings: readonly string[];
  readonly report: unknown;
}

/** @param result what `--json` prints; its report is in a file and therefore not logged */
function logResult(
  { left_out: leftOut, warnings, report: _, ...result }: LoggedResult,
  log: Logger,
) {
  for (const line of leftOut) log.warn(`Left out: ${line}.`);
  for (const line of warnings) log.warn(`${line}.`);
  log.info(result, 'generated');
}

main().catch((error: Error) => process.exit(reportFailure(error)));
