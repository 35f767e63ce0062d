/**
 * `npm run generate`: one generation from the database of DATABASE_URL into SNAPSHOTS_DIR, and the
 * keys file with it. Progress goes to stderr, the result to stdout.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { openDatabase } from '../database/open.ts';
import {
  ConfigurationError,
  loadEnvironmentFile,
  readEnvironment,
} from '../environment/environment.ts';
import { STATUS_FILE } from '../format/layout.ts';
import { encodeStatus, parseStatus, type RunStatus } from '../format/status-file.ts';
import { checkWritableFolder } from '../program/folders.ts';
import { replaceFile } from './atomic-file.ts';
import { generate, RefusedError, type RunResult } from './generate.ts';
import { exportKeys, hasKeys } from './keys-export.ts';
import { LockedError } from './lock.ts';
import { makeProgress, type Progress } from './progress.ts';

const USAGE = `npm run generate -- [--dry-run] [--force] [--json]

Exports the catalogue of DATABASE_URL into one generation in SNAPSHOTS_DIR and
publishes it. The same data publishes nothing new.

  --dry-run  do everything but publish, and say what would change
  --force    publish although too many rows break the contract, or although the
             catalogue shrank by more than 20 %
  --json     print the result as one JSON object

Exit codes: 0 published or nothing new, 1 failed, 2 wrong usage or
configuration, 3 refused to publish, 4 another run is under way.
`;

async function main(progress: Progress): Promise<number> {
  const { values } = readArguments();
  if (values.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  loadEnvironmentFile();
  const environment = readEnvironment(
    ['DATABASE_URL', 'SNAPSHOTS_DIR', 'SITE_URL', 'SITE_LANGUAGE', 'FILES_URL'],
    process.env,
    { SNAPSHOTS_DIR: checkWritableFolder },
  );
  const { SNAPSHOTS_DIR: snapshotsDir } = environment;
  for (const name of ['SITE_URL', 'FILES_URL'] as const) {
    if (!process.env[name])
      progress.warn(`${name} is not set: records link to ${environment[name]}.`);
  }
  const started = performance.now();
  let result: RunResult;
  const database = await openDatabase(environment.DATABASE_URL).catch((error: Error) => {
    saveStatus(snapshotsDir, 'failed', error.message);
    throw error;
  });
  try {
    result = await generate(
      database,
      {
        snapshotsDir,
        settings: {
          site_url: environment.SITE_URL,
          site_language: environment.SITE_LANGUAGE,
          files_url: environment.FILES_URL,
        },
        isDryRun: values['dry-run'] ?? false,
        isForced: values.force ?? false,
      },
      progress,
    );
    if (result.outcome !== 'dry_run') saveStatus(snapshotsDir, result.outcome, null);
    try {
      if (await hasKeys(database)) await exportKeys(database, snapshotsDir);
    } catch (cause) {
      const { message } = cause as Error;
      throw new Error(`export the keys (${result.id ?? 'no generation'} is current): ${message}`, {
        cause,
      });
    }
  } catch (error) {
    // Whoever holds the lock writes the status of its own run.
    if (!(error instanceof LockedError)) {
      const outcome = error instanceof RefusedError ? 'refused' : 'failed';
      saveStatus(snapshotsDir, outcome, (error as Error).message);
    }
    throw error;
  } finally {
    await database.close();
  }
  progress.end();
  const seconds = (performance.now() - started) / 1000;
  process.stdout.write(values.json ? asJson(result, seconds) : asText(result, seconds));
  return 0;
}

function readArguments() {
  try {
    return parseArgs({
      options: {
        'dry-run': { type: 'boolean' },
        force: { type: 'boolean' },
        json: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (cause) {
    throw new ConfigurationError(`${(cause as Error).message}\n\n${USAGE}`, { cause });
  }
}

/** Says how the run ended; a folder that cannot take it must not hide the error that was. */
function saveStatus(
  snapshotsDir: string,
  outcome: RunStatus['outcome'],
  error: string | null,
): void {
  const file = path.join(snapshotsDir, STATUS_FILE);
  const finished_at = `${new Date().toISOString().slice(0, 19)}Z`;
  const agrees = outcome === 'published' || outcome === 'unchanged';
  try {
    const current_as_of = agrees ? finished_at : lastAgreement(file);
    mkdirSync(snapshotsDir, { recursive: true });
    replaceFile(file, encodeStatus({ finished_at, outcome, current_as_of, error }), 0o644);
  } catch (cause) {
    if (agrees) throw cause;
  }
}

function lastAgreement(file: string): string | null {
  try {
    return parseStatus(readFileSync(file, 'utf8')).current_as_of;
  } catch {
    return null;
  }
}

function peakMemoryMb(): number {
  return Math.round((peakMemoryKib() * 1024) / 1e6);
}

function peakMemoryKib(): number {
  try {
    // Of this program alone: maxRSS counts whatever the process was before it became this program.
    const [, peak] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
    if (peak !== undefined) return Number(peak);
  } catch {
    // Not Linux.
  }
  return process.resourceUsage().maxRSS;
}

function asJson(result: RunResult, seconds: number): string {
  const { outcome, id, counts, previousCounts, leftOut } = result;
  return `${JSON.stringify({
    outcome,
    id: id ?? null,
    counts,
    previous_counts: previousCounts ?? null,
    left_out: leftOut,
    seconds: Math.round(seconds * 1000) / 1000,
    peak_memory_mb: peakMemoryMb(),
  })}\n`;
}

function asText({ outcome, id, counts, previousCounts }: RunResult, seconds: number): string {
  const change = (name: 'platforms' | 'games' | 'covers') => {
    const before = previousCounts?.[name];
    const difference = before === undefined ? 0 : counts[name] - before;
    const sign = difference > 0 ? '+' : '';
    return `${counts[name]} ${name}${difference === 0 ? '' : ` (${sign}${difference})`}`;
  };
  const what = {
    published: `Published ${id}`,
    unchanged: `Nothing new, ${id} stays`,
    dry_run: 'Would publish',
  }[outcome];
  return `${what}: ${change('platforms')}, ${change('games')}, ${change('covers')}, ${counts.left_out} rows left out; ${seconds.toFixed(1)} s, ${peakMemoryMb()} MB at most.\n`;
}

const progress = makeProgress(process.stderr);
// The listener of the run removes what it wrote when the process exits.
for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const) {
  process.on(signal, () => process.exit(code));
}
main(progress).then(
  (code) => {
    process.exitCode = code;
  },
  (error: Error) => {
    progress.end();
    process.stderr.write(`${error.message.trimEnd()}\n`);
    if (error instanceof ConfigurationError) process.exitCode = 2;
    else if (error instanceof RefusedError) process.exitCode = 3;
    else if (error instanceof LockedError) process.exitCode = 4;
    else process.exitCode = 1;
  },
);
