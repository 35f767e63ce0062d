/**
 * The verbs `push` and `keygen` of `cover-catalogue snapshot`. Progress goes to stderr, the result to
 * stdout.
 */
import { closeSync, writeFileSync } from 'node:fs';
import { pushAsConfigured } from '../depot/push/configured-push.ts';
import { makeKeyPair } from '../depot/signatures/keys.ts';
import { openForWriting } from '../generations/files/file-modes.ts';
import type { VerbArguments, VerbSyntax } from '../program/arguments.ts';
import type { Invocation } from '../program/invocation.ts';
import { makeProgress } from '../program/progress.ts';
import { readNumber } from './read-number.ts';

const MOST_PARALLEL = 16;
const LONGEST_TIMEOUT_SECONDS = 3_600;
const PRIVATE_FILE = 0o600;

export const PUSH_SYNTAX = {
  usage: 'push [--to ADDRESS] [--parallel N] [--timeout SECONDS] [--force]',
  help: 'sends the current generation to a store for replicas: a folder or s3://bucket/prefix (default: SNAPSHOT_PUSH), signed if SNAPSHOT_SIGNING_KEY is set; with --force, even if the store has a newer pointer, or a signed one while this machine has no signing key',
  options: {
    to: { type: 'string' },
    parallel: { type: 'string' },
    timeout: { type: 'string' },
    force: { type: 'boolean' },
  },
  positionals: [],
} as const satisfies VerbSyntax;

export const KEYGEN_SYNTAX = {
  usage: 'keygen FILE',
  help: 'makes a key pair for signatures: writes the private key to a new FILE, for SNAPSHOT_SIGNING_KEY, and prints the public key, for SNAPSHOT_PUBLIC_KEYS',
  options: {},
  positionals: ['FILE'],
} as const satisfies VerbSyntax;

type Streams = Pick<Invocation, 'stdout' | 'stderr'>;

export async function runPush(
  call: Streams & { readonly dir: string; readonly variables: NodeJS.ProcessEnv },
  { to, parallel, timeout, force }: VerbArguments['options'],
): Promise<void> {
  const progress = makeProgress(call.stderr);
  const started = performance.now();
  try {
    const result = await pushAsConfigured({
      environment: { ...call.variables, SNAPSHOTS_DIR: call.dir },
      to: to === undefined ? undefined : String(to),
      isForced: force === true,
      parallel: readNumber('--parallel', parallel, undefined, MOST_PARALLEL),
      stallSeconds: readNumber('--timeout', timeout, undefined, LONGEST_TIMEOUT_SECONDS),
      report: {
        advance: (done, size) =>
          progress.advance(
            'sending',
            `${megabytes(done)} of ${megabytes(size)} MB`,
            size === 0 ? 1 : done / size,
          ),
        step: progress.step,
        warn: progress.warn,
      },
    });
    progress.end();
    const { pointer, outcome, remote } = result;
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    call.stdout.write(
      outcome === 'unchanged'
        ? `${remote} has ${pointer.id} already; ${result.removed} old objects removed.\n`
        : `Pushed ${pointer.id} to ${remote}: ${result.sent} files and ${result.differences} differences sent (${megabytes(result.sentBytes)} MB), ${result.present} files were there; ${result.removed} old objects removed; ${seconds} s.\n`,
    );
  } finally {
    progress.end();
  }
}

export function runKeygen({ stdout, stderr }: Streams, file: string): void {
  const { privateKey, publicKey } = makeKeyPair();
  let descriptor: number;
  try {
    descriptor = openForWriting(file, 'wx', PRIVATE_FILE);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const reason =
      code === 'EEXIST' ? `${file} exists already. Name a new file` : `${file}: ${message}`;
    throw new Error(`The private key cannot be written: ${reason}.`, { cause });
  }
  try {
    writeFileSync(descriptor, `${privateKey}\n`);
  } finally {
    closeSync(descriptor);
  }
  stderr.write(
    `The private key is in ${file}, for SNAPSHOT_SIGNING_KEY where snapshots are pushed. The public key, for SNAPSHOT_PUBLIC_KEYS of replicas:\n`,
  );
  stdout.write(`${publicKey}\n`);
}

/** Bytes as megabytes with one decimal. */
function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}
