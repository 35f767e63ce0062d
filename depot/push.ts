/**
 * Pushes the current generation of a snapshots folder to a depot: the files that the depot does not have,
 * the manifest, and last the release.
 *
 * Invariant: whatever the release in the depot names is complete, and is never replaced by something older. A
 * push that was killed leaves objects that the next one finds, and nothing that readers could mistake for a
 * generation. Pushes from one snapshots folder wait for each other.
 */
import type { KeyObject } from 'node:crypto';
import { createReadStream } from 'node:fs';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { createZstdCompress, constants as zlib } from 'node:zlib';
import type { Logger } from 'pino';
import {
  LARGEST_MANIFEST,
  type Manifest,
  type ManifestFile,
  parseManifest,
} from '../format/manifest.ts';
import {
  GENERATION_PREFIXES,
  MANIFESTS,
  RELEASES,
  storedFile,
  storedManifest,
} from '../format/release.ts';
import { checkFile } from '../generations/files/checked-files.ts';
import { makeFolder } from '../generations/files/file-modes.ts';
import { checkId, currentId, generationDir, readManifestFile } from '../generations/generations.ts';
import { waitForLock } from '../generations/lock.ts';
import type { Tasks } from '../program/admin/tasks.ts';
import { ConfigurationError, readEnvironment } from '../program/environment/environment.ts';
import { messageOf } from '../program/failure.ts';
import { poll } from '../program/poll.ts';
import { logProgress } from '../program/progress.ts';
import { RefusedReleaseError, type StoredObject, type WritableDepot } from './depot.ts';
import { openWritableDepot } from './open.ts';
import { readReplaced, writeRelease } from './release.ts';
import { PUSH_CHECKS, PUSH_VARIABLES, readSigningKey } from './signing.ts';
import { readObject, type TransferReport, transferAll } from './transfers.ts';

/** Inside `SNAPSHOTS_DIR`: the lock of pushes. */
const PUSH_FOLDER = 'push';
/** Of zstd. */
const LEVEL = 6;
/** In bytes. With Node's usual pieces of 64 KB, a push takes 7 % more CPU time. */
const PIECE = 1024 * 1024;
/**
 * Longer than a push or a pull usually takes; others begin again. What was taken down must be gone 10 minutes
 * after the release was replaced, which leaves time for a depot that fails for a while.
 */
const GRACE_MS = 8 * 60_000;

export interface PushOptions {
  readonly snapshotsDir: string;
  /** Undefined if the release is not signed. */
  readonly signingKey: KeyObject | undefined;
  /** How long a generation stays in the depot after it was pushed, even if another one replaces it. */
  readonly graceMs: number;
  readonly report: TransferReport;
}

export interface PushResult {
  /** "unchanged" if the depot had the release and every object already. */
  readonly outcome: 'pushed' | 'unchanged';
  readonly id: string;
  /** The name of the depot. */
  readonly depot: string;
  /** How many files were sent, in how many bytes, and how many were there already. */
  readonly sent: number;
  readonly sentBytes: number;
  readonly present: number;
  /** How many objects were removed. */
  readonly removed: number;
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
    const { SNAPSHOTS_DIR: snapshotsDir, SNAPSHOT_SIGNING_KEY } = values;
    const signingKey = readSigningKey(SNAPSHOT_SIGNING_KEY);
    return await push(depot, { snapshotsDir, signingKey, graceMs: GRACE_MS, report });
  } finally {
    depot.close();
  }
}

/** @throws RefusedReleaseError if the depot has something that must stay; any other Error names what failed */
export async function push(depot: WritableDepot, options: PushOptions): Promise<PushResult> {
  const { snapshotsDir, signingKey, graceMs, report } = options;
  if (currentId(snapshotsDir) === undefined) {
    throw new Error(`There is no generation in ${snapshotsDir} yet, so there is none to push.`);
  }
  const folder = path.join(snapshotsDir, PUSH_FOLDER);
  makeFolder(folder);
  const pushCurrent = async (): Promise<PushResult> => {
    const id = currentId(snapshotsDir) ?? '';
    const dir = generationDir(snapshotsDir, id);
    const { manifest, encoded, file } = readManifestFile(dir);
    checkId(manifest, id);
    const content = { id, sequence: manifest.sequence, sha256: file.sha256 };
    const isReleased = () => checkReplaced(depot, content, signingKey);
    const wasReleased = await isReleased();
    report.step(`pushing ${id} to ${depot.name}`);
    const counts = await putMissing(depot, dir, manifest, encoded, report);
    // Checked again: another machine may have pushed in the meantime.
    if (!wasReleased && !(await isReleased())) {
      const released_at = new Date().toISOString();
      await writeRelease(depot, 'snapshot', { ...content, released_at }, signingKey);
    }
    const removed = await tidy(depot, manifest, graceMs).catch((error: unknown) => {
      report.warn(
        `${depot.name} was not cleaned up, and may still have covers that were taken down: ${messageOf(error)}`,
      );
      return 0;
    });
    const outcome = wasReleased && counts.sent === 0 ? 'unchanged' : 'pushed';
    return { outcome, id, depot: depot.name, removed, ...counts };
  };
  return waitForLock(folder, pushCurrent, ({ message }) => report.step(message));
}

/**
 * @returns whether the depot has the release of a generation already
 * @throws RefusedReleaseError if the release that it has must stay
 */
async function checkReplaced(
  depot: WritableDepot,
  { id, sequence, sha256 }: Pick<Manifest, 'id' | 'sequence'> & { readonly sha256: string },
  signingKey: KeyObject | undefined,
): Promise<boolean> {
  const before = await readReplaced(depot, 'snapshot', signingKey);
  if (before === undefined) return false;
  if (signingKey === undefined && before.signature !== null) {
    throw new RefusedReleaseError(
      `The release at ${depot.name} is signed, and ${id} cannot be signed, because SNAPSHOT_SIGNING_KEY is not set. Nothing is pushed. Set the key; or remove ${RELEASES.snapshot} there, to push without a signature.`,
    );
  }
  if (before.id === id && before.sha256 === sha256) return true;
  if (before.sequence < sequence) return false;
  throw new RefusedReleaseError(
    `${depot.name} has ${before.id}, which is not older than ${id}, the current generation of this machine. Nothing is pushed. If this machine is to continue after that one, fetch it with "cover-catalogue replica --once --from ${depot.name}" and generate again.`,
  );
}

/** Lists everything that belongs to generations. */
async function listObjects(depot: WritableDepot): Promise<StoredObject[]> {
  return (await Promise.all(GENERATION_PREFIXES.map(depot.list))).flat();
}

/** Sends what the depot does not have of a generation. */
async function putMissing(
  depot: WritableDepot,
  dir: string,
  { id, files }: Manifest,
  encoded: Buffer,
  report: TransferReport,
): Promise<Pick<PushResult, 'sent' | 'sentBytes' | 'present'>> {
  const sizes = new Map((await listObjects(depot)).map((each) => [each.path, each.size]));
  const contents = [...new Map(files.map((file) => [file.sha256, file])).values()];
  const missing = contents.filter(({ sha256 }) => !sizes.get(storedFile(sha256)));
  let sentBytes = 0;
  const send = async (file: ManifestFile) => {
    const compressed = await compress(dir, file);
    await depot.put(storedFile(file.sha256), compressed);
    sentBytes += compressed.length;
  };
  await transferAll('sending', missing, send, report);
  // Only if it is not there: the time of a manifest tells when the generation before was replaced.
  const name = storedManifest(id);
  if (sizes.get(name) !== encoded.length) await depot.put(name, encoded);
  return { sent: missing.length, sentBytes, present: contents.length - missing.length };
}

/** @throws Error if the file is damaged, so that it never reaches a depot */
async function compress(dir: string, file: ManifestFile): Promise<Buffer> {
  checkFile(dir, file);
  const source = createReadStream(path.join(dir, file.path), { highWaterMark: PIECE });
  const params = { [zlib.ZSTD_c_compressionLevel]: LEVEL };
  return pipeline(source, createZstdCompress({ params, pledgedSrcSize: file.size }), buffer);
}

/**
 * Removes what neither the current generation needs, nor one that was pushed within the time of grace: a
 * replica may still be pulling that. Other objects must not stay: a cover may have been taken down since.
 * What is younger than that stays too, because a push under way may have just sent it.
 * @param current the generation that the release names
 * @returns how many objects were removed
 */
async function tidy(depot: WritableDepot, current: Manifest, graceMs: number): Promise<number> {
  const objects = await listObjects(depot);
  // By the clock of the depot, which may differ from that of this machine.
  const now = objects.reduce((time, { modifiedAt }) => Math.max(time, modifiedAt), Date.now());
  const isOld = ({ modifiedAt }: StoredObject) => modifiedAt + graceMs <= now;
  const needed = new Set(objectsOf(current));
  const others = objects.filter(({ path: name }) => !needed.has(name));
  for (const object of others) {
    if (!object.path.startsWith(MANIFESTS) || isOld(object)) continue;
    const encoded = await readObject(depot, object.path, LARGEST_MANIFEST);
    try {
      for (const name of objectsOf(parseManifest(encoded ?? ''))) needed.add(name);
    } catch {
      // It is damaged, so nobody can pull that generation.
    }
  }
  const old = others.filter((object) => isOld(object) && !needed.has(object.path));
  // Manifests come first: then no reader finds a generation whose files are gone.
  for (const { path: name } of old) await depot.remove(name);
  return old.length;
}

function objectsOf({ id, files }: Manifest): string[] {
  return [storedManifest(id), ...files.map(({ sha256 }) => storedFile(sha256))];
}

/** How often `current` is read: one system call. */
const INTERVAL_MS = 500;
/** When to push again after a failure; the push itself has tried each transfer several times. */
const AGAIN_MS = 10_000;
/** A push that finds nothing new sends what the depot has lost, and removes what it no longer needs. */
const CHECK_MS = 60_000;

/**
 * Keeps a depot up to date: pushes whenever another generation has become current, and again after a while.
 * @param send pushes the current generation once; if it fails, it is tried again
 */
export function pushChanges(
  snapshotsDir: string,
  send: (report: TransferReport) => Promise<PushResult>,
  tasks: Tasks,
  log: Logger,
  now = Date.now,
) {
  /** The generation that the last push sent, or failed to send. */
  let lastId: string | undefined;
  let nextAt = 0;
  const pushOnce = tasks.observe('push', () => send(logProgress(log)));
  const check = async () => {
    const id = currentId(snapshotsDir);
    if (id === undefined || (id === lastId && now() < nextAt)) return;
    lastId = id;
    nextAt = now() + AGAIN_MS;
    const result = await pushOnce();
    if (result.outcome !== 'unchanged' || result.removed > 0) log.info(result, 'pushed');
    nextAt = now() + CHECK_MS;
  };
  return poll(check, INTERVAL_MS, ({ message }) =>
    log.error(`The push failed, and will be tried again: ${message}`),
  );
}
