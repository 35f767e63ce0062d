/**
 * A push as the environment describes it: the keys, the store and its address. Every fault of these
 * variables is found before anything is opened.
 */
import { ConfigurationError, readEnvironment } from '../../program/environment/environment.ts';
import { openRemote } from '../remote/open-remote.ts';
import type { RemoteStore } from '../remote/remote.ts';
import { readSigningKeys, readVerifyingKeys } from '../signatures/configured-keys.ts';
import { type PushReport, type PushResult, push } from './push.ts';
import { PUSH_CHECKS, PUSH_VARIABLES } from './push-variables.ts';

export const DEFAULT_PARALLEL = 4;
export const DEFAULT_TIMEOUT_SECONDS = 30;
/**
 * Longer than a replica needs for most pulls; others begin again. What was taken down must be gone 10
 * minutes after the pointer has moved, which leaves time for a store that fails for a while.
 */
const GRACE_MS = 8 * 60_000;

export interface ConfiguredPush {
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** The address of the store, instead of SNAPSHOT_PUSH. */
  readonly to?: string | undefined;
  readonly parallel?: number | undefined;
  readonly stallSeconds?: number | undefined;
  readonly isForced?: boolean;
  readonly report: PushReport;
}

/**
 * @returns the result, and what was transferred
 * @throws ConfigurationError, PushRefusedError, or an Error that names what failed
 */
export async function pushAsConfigured(
  options: ConfiguredPush,
): Promise<PushResult & { readonly remote: string; readonly sentBytes: number }> {
  const { environment = process.env, report } = options;
  const values = readEnvironment(PUSH_VARIABLES, environment, PUSH_CHECKS);
  const remote = openStore(options, values.SNAPSHOT_PUSH, environment);
  try {
    const result = await push(remote, {
      snapshotsDir: values.SNAPSHOTS_DIR,
      signingKeys: readSigningKeys(values.SNAPSHOT_SIGNING_KEY),
      publicKeys: readVerifyingKeys(values.SNAPSHOT_PUBLIC_KEYS),
      isForced: options.isForced ?? false,
      parallel: options.parallel ?? DEFAULT_PARALLEL,
      graceMs: GRACE_MS,
      report,
    });
    return { ...result, remote: remote.name, sentBytes: remote.traffic().sent };
  } finally {
    remote.close();
  }
}

/**
 * Checks SNAPSHOT_PUSH and the variables of its store, for programs that push later. A folder that is
 * missing now may be mounted by then.
 * @throws ConfigurationError
 */
export function checkPushAddress(address: string): void {
  if (address === '') return;
  if (/^https?:/.test(address)) {
    throw new ConfigurationError(
      'SNAPSHOT_PUSH is the address of a web server, which can only be read. Name the folder that it serves, or s3://bucket/prefix.',
    );
  }
  try {
    openRemote(address, { stallSeconds: DEFAULT_TIMEOUT_SECONDS }).close();
  } catch (error) {
    if (error instanceof ConfigurationError) throw error;
  }
}

function openStore(
  { to, stallSeconds = DEFAULT_TIMEOUT_SECONDS }: ConfiguredPush,
  fallback: string,
  environment: Readonly<Record<string, string | undefined>>,
): RemoteStore {
  const address = to ?? fallback;
  if (address === '') {
    throw new ConfigurationError(
      'The store is missing. Name it with --to, or in the variable SNAPSHOT_PUSH: a folder or s3://bucket/prefix.',
    );
  }
  return openRemote(address, { stallSeconds, environment });
}
