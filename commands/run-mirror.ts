/**
 * `cover-catalogue mirror`: makes a snapshots folder a mirror of another installation, through its API.
 * Progress goes to stderr, the result to stdout.
 */

import { openApiSource } from '../depot/pull/api-source.ts';
import { endingOf, megabytes, type PullResult, pull } from '../depot/pull/pull.ts';
import { type Clock, systemClock } from '../depot/transfer/clock.ts';
import { isWellFormedKey } from '../format/api-key.ts';
import { addStateToErrors } from '../generations/hold.ts';
import { LockedError } from '../generations/lock.ts';
import { saveStatus } from '../generations/run-status.ts';
import { readArguments } from '../program/arguments.ts';
import { ConfigurationError, readEnvironment } from '../program/environment/environment.ts';
import { parseWebAddress } from '../program/environment/values.ts';
import { reportFailure } from '../program/failure.ts';
import { readBoundedFileSync } from '../program/files/bounded-file.ts';
import { checkWritableFolder } from '../program/folders.ts';
import type { Invocation } from '../program/invocation.ts';
import { makeProgress, type Progress } from '../program/progress.ts';
import { readNumber } from './read-number.ts';
import { reportProgress } from './report-progress.ts';

const USAGE = `cover-catalogue mirror --from URL [--key-file FILE | --key KEY] [--to FOLDER]
                       [--force] [--parallel N] [--timeout SECONDS]

Fetches the newest generation from the API at URL, such as
https://api.example.org/api/v1, and publishes it in FOLDER under the same id.
Fetches only the files that FOLDER lacks, and continues an interrupted run where
it stopped.

  --from URL         the address of the API, including /api/v1
  --key-file FILE    a file with the API key (default: the variable MIRROR_KEY)
  --key KEY          the API key; other users can see it in the process list
  --to FOLDER        the snapshots folder (default: the variable SNAPSHOTS_DIR)
  --force            replace the current generation even with an older one
  --parallel N       how many files to fetch at the same time (default 4, at most 16)
  --timeout SECONDS  repeat a transfer without progress after this time (default 30)

Exit codes: 0 published or nothing new, 1 failed, 2 wrong usage or
configuration, 3 refused to publish or held, 4 another run is under way.
`;

const DEFAULT_PARALLEL = 4;
const MOST_PARALLEL = 16;
const DEFAULT_TIMEOUT_SECONDS = 30;
const LONGEST_TIMEOUT_SECONDS = 3_600;
/** In bytes. */
const LARGEST_KEY_FILE = 4096;

const OPTIONS = {
  from: { type: 'string' },
  key: { type: 'string' },
  'key-file': { type: 'string' },
  to: { type: 'string' },
  force: { type: 'boolean' },
  parallel: { type: 'string' },
  timeout: { type: 'string' },
} as const;

/** @returns the exit code */
export async function runMirror(
  invocation: Invocation,
  clock: Clock = systemClock,
): Promise<number> {
  const progress = makeProgress(invocation.stderr);
  try {
    await mirror(invocation, progress, clock);
    return 0;
  } catch (error) {
    progress.end();
    return reportFailure(error as Error, '', invocation.stderr);
  }
}

async function mirror(
  { words, variables: readVariables, stdout }: Invocation,
  progress: Progress,
  clock: Clock,
): Promise<void> {
  const values = readArguments(USAGE, OPTIONS, words);
  const variables = readVariables();
  const { SNAPSHOTS_DIR: snapshotsDir, MIRROR_KEY } = readEnvironment(
    ['SNAPSHOTS_DIR', 'MIRROR_KEY'],
    values.to === undefined ? variables : { ...variables, SNAPSHOTS_DIR: values.to },
    { SNAPSHOTS_DIR: checkWritableFolder },
  );
  const url = readAddress(values.from);
  const key = readKey(values.key, values['key-file'], MIRROR_KEY);
  const parallel = readNumber('--parallel', values.parallel, DEFAULT_PARALLEL, MOST_PARALLEL);
  const stallSeconds = readNumber(
    '--timeout',
    values.timeout,
    DEFAULT_TIMEOUT_SECONDS,
    LONGEST_TIMEOUT_SECONDS,
  );
  const source = openApiSource({ url, key, stallSeconds, clock });
  const started = performance.now();
  try {
    const result = await addStateToErrors(snapshotsDir, () =>
      pull(source, {
        snapshotsDir,
        parallel,
        isForced: values.force ?? false,
        clock,
        report: reportProgress(progress),
      }),
    );
    saveStatus(snapshotsDir, { outcome: result.outcome, id: result.manifest.id });
    progress.end();
    stdout.write(asText(result, source.received(), (performance.now() - started) / 1000));
  } catch (error) {
    // The run that holds the lock saves its own status.
    if (!(error instanceof LockedError)) saveStatus(snapshotsDir, endingOf(error as Error));
    throw error;
  }
}

function readAddress(text: string | undefined): string {
  if (text === undefined) throw new ConfigurationError(`--from is missing.\n\n${USAGE}`);
  try {
    return parseWebAddress(text);
  } catch (cause) {
    throw new ConfigurationError(`--from ${(cause as Error).message}`, { cause });
  }
}

/** No message contains the key. */
function readKey(key: string | undefined, file: string | undefined, variable: string): string {
  if (key !== undefined && file !== undefined) {
    throw new ConfigurationError('--key and --key-file are both given. Keep one of them.');
  }
  const text = (file === undefined ? (key ?? variable) : readKeyFile(file)).trim();
  const origin = file !== undefined ? '--key-file' : key !== undefined ? '--key' : 'MIRROR_KEY';
  if (text === '') {
    throw new ConfigurationError(
      'The API key is missing. Give it with --key-file, or in the variable MIRROR_KEY.',
    );
  }
  if (isWellFormedKey(text)) return text;
  throw new ConfigurationError(
    `${origin} does not hold an API key: "cck_" and 38 letters and digits, which contain a checksum. Copy the key again.`,
  );
}

function readKeyFile(file: string): string {
  try {
    return readBoundedFileSync(file, LARGEST_KEY_FILE).toString('utf8');
  } catch (cause) {
    throw new ConfigurationError(`--key-file cannot be read: ${(cause as Error).message}`, {
      cause,
    });
  }
}

function asText({ outcome, manifest, ...files }: PullResult, received: number, seconds: number) {
  const { id, counts } = manifest;
  const what =
    outcome === 'published'
      ? `Published ${id}`
      : `Nothing is newer than ${id}, which stays current`;
  const { fetched, linked } = files;
  return `${what}: ${counts.games} games, ${counts.covers} covers; ${fetched} files fetched with ${megabytes(received)} MB, ${linked} were here; ${seconds.toFixed(1)} s.\n`;
}
