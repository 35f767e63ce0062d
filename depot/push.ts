/**
 * Pushes the current generation of a snapshots folder to a depot: the files that the depot does not have,
 * the manifest, and last the release.
 *
 * Invariant: whatever the release in the depot names is complete, and is never replaced by something older. A
 * push that was killed leaves objects that the next one finds, and nothing that readers could mistake for a
 * generation. Pushes from one snapshots folder wait for each other.
 */
import { createHash, hash, type KeyObject } from 'node:crypto';
import { createReadStream } from 'node:fs';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createZstdCompress, constants as zlib } from 'node:zlib';
import {
  LARGEST_MANIFEST,
  type Manifest,
  type ManifestFile,
  parseManifest,
} from '../format/manifest.ts';
import {
  encodeRelease,
  makeRelease,
  parseRelease,
  RELEASES,
  type Release,
  storedFile,
  storedManifest,
} from '../format/release.ts';
import { makeFolder } from '../generations/files/file-modes.ts';
import {
  checkId,
  currentId,
  generationDir,
  readManifestBytes,
} from '../generations/generations.ts';
import { waitForLock } from '../generations/lock.ts';
import { ConfigurationError, readEnvironment } from '../program/environment/environment.ts';
import { messageOf } from '../program/failure.ts';
import { RefusedReleaseError, type WritableDepot } from './depot.ts';
import { openWritableDepot } from './open.ts';
import type { TransferReport } from './pull.ts';
import { readRelease } from './release.ts';
import {
  isSignedBy,
  PUSH_CHECKS,
  PUSH_VARIABLES,
  publicKeyOf,
  readSigningKey,
  signRelease,
} from './signing.ts';
import { AGAIN_MS, type Tidied, tidy } from './tidy.ts';
import { inParallel, readObject, systemClock, tryAgain } from './transfers.ts';

/** Inside `SNAPSHOTS_DIR`: the lock of pushes. */
const PUSH_FOLDER = 'push';
/** How many files are compressed and sent at the same time. */
const PARALLEL = 4;
/** Of zstd. */
const LEVEL = 6;
/** In bytes. With Node's usual pieces of 64 KB, a push takes 7 % more CPU time. */
const PIECE = 1024 * 1024;
/**
 * Longer than a replica needs for most pulls; others begin again. What was taken down must be gone 10
 * minutes after the release was replaced, which leaves time for a depot that fails for a while.
 */
const GRACE_MS = 8 * 60_000;

export interface PushOptions {
  readonly snapshotsDir: string;
  /** Undefined if the release is not signed. */
  readonly signingKey: KeyObject | undefined;
  /** How long a generation stays in the depot after another one has replaced it. */
  readonly graceMs: number;
  readonly report: TransferReport;
}

export interface PushResult extends Tidied {
  /** "unchanged" if the depot had the release and every object already. */
  readonly outcome: 'pushed' | 'unchanged';
  readonly id: string;
  /** The name of the depot. */
  readonly depot: string;
  /** How many files were sent, in how many bytes, and how many were there already. */
  readonly sent: number;
  readonly sentBytes: number;
  readonly present: number;
}

/**
 * Pushes as the environment says.
 * @param to the address of the depot, instead of SNAPSHOT_PUSH
 * @throws ConfigurationError, RefusedReleaseError, or an Error that names what failed
 */
export async function pushConfigured(
  environment: Readonly<Record<string, string | undefined>>,
  report: TransferReport,
  to?: string,
): Promise<PushResult> {
  const values = readEnvironment(PUSH_VARIABLES, environment, PUSH_CHECKS);
  const address = to ?? values.SNAPSHOT_PUSH;
  if (address === '') {
    throw new ConfigurationError(
      'The depot is missing. Name it with --to, or in the variable SNAPSHOT_PUSH: a folder or s3://bucket/prefix.',
    );
  }
  const depot = openWritableDepot(address, { environment });
  try {
    return await push(depot, {
      snapshotsDir: values.SNAPSHOTS_DIR,
      signingKey: readSigningKey(values.SNAPSHOT_SIGNING_KEY),
      graceMs: GRACE_MS,
      report,
    });
  } finally {
    depot.close();
  }
}

/** @throws RefusedReleaseError if the depot has something that must stay; any other Error names what failed */
export async function push(depot: WritableDepot, options: PushOptions): Promise<PushResult> {
  const { snapshotsDir, report } = options;
  if (currentId(snapshotsDir) === undefined) {
    throw new Error(`There is no generation in ${snapshotsDir} yet, so there is none to push.`);
  }
  const folder = path.join(snapshotsDir, PUSH_FOLDER);
  makeFolder(folder);
  return waitForLock(
    folder,
    () => pushLocked(depot, options),
    ({ message }) => report.step(message),
  );
}

async function pushLocked(depot: WritableDepot, options: PushOptions): Promise<PushResult> {
  const { snapshotsDir, report } = options;
  const id = currentId(snapshotsDir) ?? '';
  const encoded = readManifestBytes(generationDir(snapshotsDir, id));
  const manifest = parseManifest(encoded);
  checkId(manifest, id);
  const readText = () =>
    tryAgain(
      `read ${RELEASES.snapshot}`,
      async () => (await readRelease(depot, 'snapshot'))?.bytes.toString('utf8'),
      systemClock,
    );
  const stored = await readText();
  const release = chooseRelease(manifest, hash('sha256', encoded), stored, depot, options);
  report.step(`pushing ${id} to ${depot.name}`);
  const counts = await putMissing(depot, manifest, encoded, options);
  const isReleased = stored === release;
  if (!isReleased) {
    // Another machine may have pushed in the meantime.
    chooseRelease(manifest, hash('sha256', encoded), await readText(), depot, options);
    await put(depot, RELEASES.snapshot, Buffer.from(release));
  }
  const tidied = await tidy(depot, { snapshotsDir, currentId: id, graceMs: options.graceMs }).catch(
    (error: unknown) => {
      report.warn(
        `${depot.name} was not cleaned up, and may still have covers that were taken down: ${messageOf(error)}`,
      );
      return { removed: 0, againInMs: AGAIN_MS };
    },
  );
  const outcome = isReleased && counts.sent === 0 ? 'unchanged' : 'pushed';
  return { outcome, id, depot: depot.name, ...tidied, ...counts };
}

/**
 * The release that a push writes: the stored one, if it is right already.
 * @param stored the text of the release in the depot
 * @throws RefusedReleaseError if the stored one must stay
 */
function chooseRelease(
  { id, sequence }: Manifest,
  sha256: string,
  stored: string | undefined,
  { name }: WritableDepot,
  { signingKey }: PushOptions,
): string {
  const before = parseStored(stored);
  const own = signingKey && [publicKeyOf(signingKey)];
  if (before !== undefined && signingKey === undefined && before.signature !== null) {
    throw new RefusedReleaseError(
      `The release at ${name} is signed, and ${id} cannot be signed, because SNAPSHOT_SIGNING_KEY is not set. Nothing is pushed. Set the key; or remove ${RELEASES.snapshot} there, to push without a signature.`,
    );
  }
  // Somebody who can write to the depot, but not sign, must not stop a push.
  const isTrusted = own === undefined || (before && isSignedBy(before, own));
  if (before !== undefined && isTrusted) {
    if (before.id === id && before.sha256 === sha256) return encodeRelease(before);
    if (before.sequence >= sequence) {
      throw new RefusedReleaseError(
        `${name} has ${before.id}, which is not older than ${id}, the current generation of this machine. Nothing is pushed. If this machine is to continue after that one, fetch it with "cover-catalogue replica --once --from ${name}" and generate again.`,
      );
    }
  }
  const released_at = new Date().toISOString();
  const release = makeRelease('snapshot', { id, sequence, sha256, released_at });
  return encodeRelease(signingKey === undefined ? release : signRelease(release, signingKey));
}

/** @returns undefined if there is no release, or a damaged one, which is replaced */
function parseStored(text: string | undefined): Release | undefined {
  try {
    return text === undefined ? undefined : parseRelease(text, 'snapshot');
  } catch {
    return undefined;
  }
}

/** Sends what the depot does not have of a generation. */
async function putMissing(
  depot: WritableDepot,
  manifest: Manifest,
  encoded: Buffer,
  { snapshotsDir, report }: PushOptions,
): Promise<Pick<PushResult, 'sent' | 'sentBytes' | 'present'>> {
  const objects = await tryAgain('list objects', () => depot.list('files/'), systemClock);
  const stored = new Set(objects.filter(({ size }) => size > 0).map((object) => object.path));
  const contents = [...new Map(manifest.files.map((file) => [file.sha256, file])).values()];
  const missing = contents.filter(({ sha256 }) => !stored.has(storedFile(sha256)));
  const size = missing.reduce((sum, file) => sum + file.size, 0);
  const dir = generationDir(snapshotsDir, manifest.id);
  let done = 0;
  let sentBytes = 0;
  // The largest first, so that no core waits at the end for a large file that has just begun.
  await inParallel(
    missing.toSorted((a, b) => b.size - a.size),
    PARALLEL,
    async (file) => {
      const compressed = await compress(dir, file);
      await put(depot, storedFile(file.sha256), compressed);
      sentBytes += compressed.length;
      done += file.size;
      report.advance(done, size);
    },
  );
  const name = storedManifest(manifest.id);
  const there = await readObject(depot, name, LARGEST_MANIFEST, systemClock).catch(() => undefined);
  // Only if it is not there: the time of a manifest tells when the generation before was replaced.
  if (!there?.equals(encoded)) await put(depot, name, encoded);
  return { sent: missing.length, sentBytes, present: contents.length - missing.length };
}

/** @throws Error if the file is damaged, so that it never reaches a depot */
async function compress(dir: string, file: ManifestFile): Promise<Buffer> {
  const sha256 = createHash('sha256');
  const pieces: Buffer[] = [];
  await pipeline(
    createReadStream(path.join(dir, file.path), { highWaterMark: PIECE }),
    async function* (source: AsyncIterable<Buffer>) {
      for await (const piece of source) {
        sha256.update(piece);
        yield piece;
      }
    },
    createZstdCompress({
      params: { [zlib.ZSTD_c_compressionLevel]: LEVEL },
      pledgedSrcSize: file.size,
    }),
    async (source: AsyncIterable<Buffer>) => {
      for await (const piece of source) pieces.push(piece);
    },
  ).catch((cause: Error) => {
    throw new Error(`compress ${file.path}: ${cause.message}`, { cause });
  });
  if (sha256.digest('hex') === file.sha256) return Buffer.concat(pieces);
  throw new Error(
    `${file.path} is damaged: its SHA-256 is not the one in the manifest. Check the generation with "cover-catalogue snapshot verify".`,
  );
}

async function put(depot: WritableDepot, name: string, bytes: Buffer): Promise<void> {
  await tryAgain(`write ${name}`, () => depot.put(name, bytes), systemClock);
}
