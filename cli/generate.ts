/**
 * `cover-catalogue generate`: publishes a generation of the catalogue of DATABASE_URL in SNAPSHOTS_DIR
 * and exports the API keys. Progress goes to stderr, the result to stdout.
 */

import { PUSH_CHECKS, PUSH_VARIABLES, type PushSettings } from '../depot/signing.ts';
import { generate, RefusedError, type RunResult } from '../generator/generate.ts';
import { countsText, warningText } from '../generator/report/report.ts';
import { SETTING_VARIABLES, settingsOf } from '../generator/rows/settings.ts';
import { exportKeys, KeysLostError } from '../keys/export/export-keys.ts';
import type { Database } from '../lib/database/database.ts';
import { openDatabase } from '../lib/database/open.ts';
import type { ManifestContent } from '../lib/format/manifest.ts';
import { openCompared } from '../lib/generations/compare.ts';
import { currentId, generationDir } from '../lib/generations/generations.ts';
import { HeldError } from '../lib/generations/hold.ts';
import { LockedError } from '../lib/generations/lock.ts';
import { KEEP_VARIABLES, keepOf } from '../lib/generations/prune.ts';
import { readPrevious } from '../lib/generations/publish.ts';
import { saveStatus } from '../lib/generations/state-files.ts';
import { readArguments } from '../lib/program/arguments.ts';
import { readEnvironment } from '../lib/program/environment/environment.ts';
import { makeCommand, messageOf } from '../lib/program/failure.ts';
import type { Invocation } from '../lib/program/invocation.ts';
import { counted, printableJson } from '../lib/program/printable.ts';
import { makeProgress, type Progress } from '../lib/program/progress.ts';
import { changeJson, changeLines, compareRecords } from './snapshot/diff.ts';

const USAGE = `cover-catalogue generate [--full] [--recent] [--dry-run] [--all]
                         [--force] [--json]

Exports the catalogue of DATABASE_URL into one generation in SNAPSHOTS_DIR and
publishes it. If the data has not changed, publishes nothing.

  --full     read all rows, even if updated_at shows which of them have changed
  --recent   read only the rows that an index on updated_at shows to have changed,
             which is quickest; deleted rows, for example, are left to the next run
  --dry-run  do everything but publish, and print a summary of what would
             change, and the first 20 records
  --all      with --dry-run, print all records that would change
  --force    publish even if too many rows break the contract, the catalogue
             shrank by more than 20 %, or a first generation has games but no
             covers
  --json     print the result as one JSON object, even if the run is refused

report.json in SNAPSHOTS_DIR lists the rows that were left out, and why.

If SNAPSHOT_PUSH is set, the run then pushes the current generation to that
depot. If the push fails, the run warns, and the next run tries again.

While publishing is held, only a dry run reads the catalogue. Any other run
exports the keys and exits with 3, even with --force.

Exit codes: 0 published or nothing new, 1 failed, 2 wrong usage or
configuration, 3 refused to publish or held, 4 another run is under way.
`;

/** Addresses that mean the client's own machine. */
const LOCAL = /^https?:\/\/(?:localhost|127\.|\[::1\])/;

export const runGenerator = makeCommand(async (invocation): Promise<number> => {
  const progress = makeProgress(invocation.stderr);
  await publish(invocation, progress).finally(progress.end);
  return 0;
});

async function publish(
  { words, variables: readVariables, stdout }: Invocation,
  progress: Progress,
): Promise<void> {
  const { switches } = readArguments(USAGE, words);
  const variables = readVariables();
  const environment = readEnvironment(
    ['DATABASE_URL', 'PUBLIC_URL', ...SETTING_VARIABLES, ...KEEP_VARIABLES, ...PUSH_VARIABLES],
    variables,
    PUSH_CHECKS,
  );
  if (environment.SNAPSHOT_PUSH !== '') {
    // The modules of the depots take 5 MB, which most runs do not need.
    const { openWritableDepot } = await import('../depot/open.ts');
    openWritableDepot(environment.SNAPSHOT_PUSH, { environment: variables }).close();
  }
  const { SITE_URL, FILES_URL, PUBLIC_URL } = environment;
  const snapshotsDir = environment.SNAPSHOTS_DIR;
  const started = performance.now();
  const secondsTaken = () => Math.round(performance.now() - started) / 1000;
  let database: Database | undefined;
  let result: RunResult;
  const isJson = switches.has('json');
  const changes: string[] | null = switches.has('dry-run') ? [] : null;
  try {
    database = await openDatabase(environment.DATABASE_URL);
    result = await generate(
      database,
      {
        snapshotsDir,
        settings: settingsOf((variable) => environment[variable]),
        warnings: Object.entries({ SITE_URL, FILES_URL, PUBLIC_URL })
          .filter(([, address]) => LOCAL.test(address))
          .map(([name, address]) => {
            const reason = `${name} is ${address}, which only this machine can reach`;
            return { table: null, reason, count: 1, rows: [] };
          }),
        isFull: switches.has('full'),
        isRecent: switches.has('recent'),
        isDryRun: switches.has('dry-run'),
        inspect(content, dir) {
          const compare = compareWithCurrent(snapshotsDir, content, dir);
          if (isJson) for (const change of compare()) changes?.push(changeJson(change));
          else
            for (const line of changeLines(compare, switches.has('all'))) stdout.write(`${line}\n`);
        },
        isForced: switches.has('force'),
        keep: keepOf(environment),
      },
      progress,
    );
    const { outcome, id } = result;
    if ((outcome === 'published' || outcome === 'unchanged') && id !== undefined) {
      saveStatus(snapshotsDir, { outcome, id });
    }
    await exportKeys(database, snapshotsDir).catch((cause: Error) => {
      if (!(cause instanceof KeysLostError)) {
        const state = `${id ?? 'no generation'} is current`;
        throw new Error(`export the keys (${state}): ${cause.message}`, { cause });
      }
      // The schedule reports it until it is repaired.
      progress.warn(cause.message);
    });
  } catch (error) {
    await endWithError(error as Error, database, snapshotsDir, progress);
    // After a rollback, publishing is held, and the depot must follow.
    if (error instanceof HeldError) await pushCurrent(environment, variables, progress);
    if (error instanceof RefusedError && isJson) {
      stdout.write(asJson(error.result, secondsTaken(), error.message, changes));
    }
    throw error;
  } finally {
    await database?.close();
  }
  progress.end();
  const seconds = secondsTaken();
  stdout.write(isJson ? asJson(result, seconds, null, changes) : asText(result, seconds));
  if (!switches.has('dry-run')) await pushCurrent(environment, variables, progress);
}

/** @returns lists what a dry run would change: nothing if there is no generation to compare with, or it is damaged */
function compareWithCurrent(snapshotsDir: string, content: ManifestContent, dir: string) {
  const { id, manifest } = readPrevious(snapshotsDir);
  if (id === undefined || manifest === undefined) return () => [];
  const current = generationDir(snapshotsDir, id);
  const before = { dir: current, ...openCompared(current) };
  const after = { dir, ...openCompared(dir, undefined, content) };
  return () => compareRecords(before, after);
}

/** Pushes the current generation, if there is a depot. A failure is a warning: the run has published. */
async function pushCurrent(
  settings: PushSettings,
  variables: NodeJS.ProcessEnv,
  progress: Progress,
): Promise<void> {
  const { SNAPSHOT_PUSH, SNAPSHOTS_DIR } = settings;
  if (SNAPSHOT_PUSH === '' || currentId(SNAPSHOTS_DIR) === undefined) return;
  progress.step(`pushing to ${SNAPSHOT_PUSH}`);
  const { pushConfigured } = await import('../depot/push.ts');
  const report = { ...progress, advance() {} };
  await pushConfigured(settings, variables, report).catch(({ message }: Error) =>
    progress.warn(
      `Warning: nothing was pushed: ${message} The next run tries again, and so does "cover-catalogue push".`,
    ),
  );
}

/** Ends a run that threw an error: saves the status and, unless the run failed, exports the keys. */
async function endWithError(
  error: Error,
  database: Database | undefined,
  snapshotsDir: string,
  progress: Progress,
): Promise<void> {
  // The run that holds the lock saves its own status and exports the keys.
  if (error instanceof LockedError) return;
  const outcome =
    error instanceof HeldError ? 'held' : error instanceof RefusedError ? 'refused' : 'failed';
  saveStatus(snapshotsDir, { outcome, error: messageOf(error) });
  if (outcome === 'failed' || database === undefined) return;
  // A revoked key must stop working even while no generation is published.
  await exportKeys(database, snapshotsDir).catch((cause: Error) =>
    progress.warn(
      cause instanceof KeysLostError
        ? cause.message
        : `The keys stay as they were: ${cause.message}`,
    ),
  );
}

/** In MB of 10^6 bytes. */
const peakMemory = () => Math.round((process.resourceUsage().maxRSS * 1024) / 1e6);

function asJson(
  result: RunResult,
  seconds: number,
  error: string | null,
  changes: readonly string[] | null,
): string {
  const { outcome, id, counts, previousCounts, leftOut, report, readAllBecause } = result;
  const members = printableJson({
    outcome,
    error,
    id: id ?? null,
    counts,
    previous_counts: previousCounts ?? null,
    left_out: leftOut,
    warnings: report.warnings.map(warningText),
    report,
    read_all_because: readAllBecause,
    seconds,
    peak_memory_mb: peakMemory(),
  });
  return `${members.slice(0, -1)},"changes":${changes && `[${changes}]`}}\n`;
}

function asText(result: RunResult, seconds: number): string {
  const { outcome, id, counts, previousCounts, report } = result;
  const change = (name: 'platforms' | 'games' | 'covers') => {
    const before = previousCounts?.[name];
    const difference = before === undefined ? 0 : counts[name] - before;
    const sign = difference > 0 ? '+' : '';
    return `${counted(counts[name], name.slice(0, -1))}${difference === 0 ? '' : ` (${sign}${difference})`}`;
  };
  const statuses = Object.entries(report.not_public);
  const hidden = statuses.length === 0 ? '' : `, covers not public: ${countsText(statuses)}`;
  const what = {
    published: `Published ${id}`,
    unchanged: `The data has not changed, ${id} stays current`,
    dry_run: 'Would publish',
    refused: 'Refused',
  }[outcome];
  return `${what}: ${change('platforms')}, ${change('games')}, ${change('covers')}, ${counted(counts.left_out, 'row')} left out${hidden}; ${seconds.toFixed(1)} s, ${peakMemory()} MB at most.\n`;
}
