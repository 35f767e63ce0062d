/**
 * `cover-catalogue push`: sends the current generation to a depot, for replicas. Progress goes to stderr, the
 * result to stdout.
 */
import { pushConfigured } from '../depot/push.ts';
import { PUSH_CHECKS, PUSH_VARIABLES } from '../depot/signing.ts';
import { megabytes } from '../depot/transfers.ts';
import { readArguments } from '../lib/program/arguments.ts';
import { ConfigurationError, readEnvironment } from '../lib/program/environment/environment.ts';
import { makeCommand } from '../lib/program/failure.ts';
import type { Invocation } from '../lib/program/invocation.ts';
import { counted } from '../lib/program/printable.ts';
import { makeProgress } from '../lib/program/progress.ts';

const USAGE = `cover-catalogue push [--to DEPOT]

Sends the current generation of SNAPSHOTS_DIR to a depot, for replicas: the files
that are not there yet, and then the release, signed if SNAPSHOT_SIGNING_KEY is
set. Removes what was replaced, unless it was pushed within the last 8 minutes.

  --to DEPOT   a folder or s3://bucket/prefix (default: the variable SNAPSHOT_PUSH)

Exit codes: 0 pushed, or everything was there; 1 failed; 2 wrong usage or
configuration; 3 refused, because the depot has something that must stay.
`;

export const runPush = makeCommand(pushOnce);

async function pushOnce({ words, variables, stdout, stderr }: Invocation): Promise<number> {
  const progress = makeProgress(stderr);
  const started = performance.now();
  const { texts } = readArguments(USAGE, words);
  const environment = variables();
  const settings = readEnvironment(PUSH_VARIABLES, environment, PUSH_CHECKS);
  const SNAPSHOT_PUSH = texts.to ?? settings.SNAPSHOT_PUSH;
  if (SNAPSHOT_PUSH === '') {
    throw new ConfigurationError(`Neither --to nor SNAPSHOT_PUSH is set.\n\n${USAGE}`);
  }
  const pushing = pushConfigured({ ...settings, SNAPSHOT_PUSH }, environment, progress);
  const result = await pushing.finally(progress.end);
  const { outcome, depot, id, sent, sentBytes, present, removed } = result;
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  stdout.write(
    outcome === 'unchanged'
      ? `${depot} has ${id} already; ${counted(removed, 'old object')} removed.\n`
      : `Pushed ${id} to ${depot}: ${counted(sent, 'file')} sent (${megabytes(sentBytes)} MB), ${present} were there; ${counted(removed, 'old object')} removed; ${seconds} s.\n`,
  );
  return 0;
}
