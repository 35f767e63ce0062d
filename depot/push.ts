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
} from '../lib/format/manifest.ts';
import {
  GENERATION_PREFIXES,
  isGenerationObject,
  MANIFESTS,
  RELEASES,
  storedFile,
  storedManifest,
} from '../lib/format/release.ts';
import { checkFile } from '../lib/generations/files/checked-files.ts';
import {
  checkFolderName,
  currentId,
  generationDir,
  readManifestFile,
} from '../lib/generations/generations.ts';
import { waitForLock } from '../lib/generations/lock.ts';
import type { Tasks } from '../lib/program/admin/tasks.ts';
import { messageOf } from '../lib/program/failure.ts';
import { poll } from '../lib/program/poll.ts';
import { RefusedReleaseError, type StoredObject, type WritableDepot } from './depot.ts';
import { openWritableDepot } from './open.ts';
import { readReplaced, writeRelease } from './release.ts';
import { type PushSettings, readSigningKey } from './signing.ts';
import { readObject, type TransferReport, transferAll } from './transfers.ts';

/** Inside `SNAPSHOTS_DIR`: the lock of pushes. */
const PUSH_FOLDER = 'push';
const COMPRESSION = { [zlib.ZSTD_c_compressionLevel]: 6 };
/** In bytes. With Node's usual pieces of 64 KB, a push takes 7 % more CPU time. */
const PIECE = 1024 * 1024;
/** In bytes. What is sent is in memory, compressed; a pack may have 4 GB. */
const LARGE = 256e6;
/**
 * Longer than a push or a pull usually takes; others begin again. What was taken down must be gone 10 minutes
 * after the release was replaced, which leaves time for a depot that fails for a while.
 */
const GRACE_MS = 8 * 60_000;

/** What a push has sent until then stays for the next one. */
const LONGEST_PUSH_MS = 3_600_000;

export interface PushOptions {
  readonly snapshotsDir: string;
  /** Undefined if the release is not signed. */
  readonly signingKey: KeyObject | undefined;
  /** How long a generation stays in the depot after it was pushed, even if another one replaces it. */
  readonly graceMs: number;
  readonly report: TransferReport;
}

interface PushResult {
  /** "unchanged" if the depot had the release and every object already. */
  readonly outcome: 'pushed' | 'unchanged';
  readonly id: string;
  /** The name of the depot. */
  readonly depot: string;
  /** How many files were sent, in how many bytes; how many were there already, and how many were removed. */
  readonly sent: number;
  readonly sentBytes: number;
  readonly present: number;
  readonly removed: number;
}

/**
 * Pushes to the depot of SNAPSHOT_PUSH.
 * @param environment with the credentials of S3
 * @throws ConfigurationError, RefusedReleaseError, or an Error that names what failed
 */
export async function pushConfigured(
  settings: PushSettings,
  environment: Readonly<Record<string, string | undefined>>,
  report: TransferReport,
  longestMs = LONGEST_PUSH_MS,
): Promise<PushResult> {
  const { SNAPSHOTS_DIR: snapshotsDir, SNAPSHOT_PUSH, SNAPSHOT_SIGNING_KEY } = settings;
  const signingKey = readSigningKey(SNAPSHOT_SIGNING_KEY);
  const depot = openWritableDepot(SNAPSHOT_PUSH, { environment });
  const late = `${depot.name} is too slow: the push was ended after ${longestMs / 1000} s.`;
  const timer = setTimeout(depot.close, longestMs, late);
  const pushing = push(depot, { snapshotsDir, signingKey, graceMs: GRACE_MS, report });
  return pushing.finally(() => {
    clearTimeout(timer);
    depot.close();
  });
}

/** @throws RefusedReleaseError if the depot has something that must stay; any other Error names what failed */
export async function push(depot: WritableDepot, options: PushOptions): Promise<PushResult> {
  const { snapshotsDir, signingKey, graceMs, report } = options;
  const pushCurrent = async (): Promise<PushResult> => {
    const id = currentId(snapshotsDir);
    if (id === undefined) throw new Error(`There is no generation in ${snapshotsDir} to push.`);
    const dir = generationDir(snapshotsDir, id);
    const { manifest, encoded, file } = readManifestFile(dir);
    checkFolderName(manifest, id);
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
      const fault = 'was not cleaned up, and may still have covers that were taken down';
      report.warn(`${depot.name} ${fault}: ${messageOf(error)}`);
      return 0;
    });
    const outcome = wasReleased && counts.sent === 0 ? 'unchanged' : 'pushed';
    return { outcome, id, depot: depot.name, removed, ...counts };
  };
  const folder = path.join(snapshotsDir, PUSH_FOLDER);
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
      `The release at ${depot.name} is signed, and SNAPSHOT_SIGNING_KEY is not set. Set it, or remove ${RELEASES.snapshot} there.`,
    );
  }
  if (before.id === id && before.sha256 === sha256) return true;
  if (before.sequence < sequence) return false;
  throw new RefusedReleaseError(
    `${depot.name} has ${before.id}, which is not older than ${id} here. To continue after it, fetch it with "cover-catalogue replica --once --from ${depot.name}", and generate again.`,
  );
}

/** Lists everything that belongs to generations. */
async function listObjects(depot: WritableDepot): Promise<StoredObject[]> {
  const found = (await Promise.all(GENERATION_PREFIXES.map(depot.list))).flat();
  return found.filter(({ path: name }) => isGenerationObject(name));
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
    // What is damaged never reaches a depot.
    checkFile(dir, file);
    const source = createReadStream(path.join(dir, file.path), { highWaterMark: PIECE });
    const encoder = createZstdCompress({ params: COMPRESSION, pledgedSrcSize: file.size });
    const compressed = await pipeline(source, encoder, buffer);
    await depot.put(storedFile(file.sha256), compressed);
    sentBytes += compressed.length;
  };
  await transferAll('sending', missing, send, report, LARGE);
  // Only if it is not there: the time of a manifest tells when the generation before was replaced.
  const name = storedManifest(id);
  if (sizes.get(name) !== encoded.length) await depot.put(name, encoded);
  return { sent: missing.length, sentBytes, present: contents.length - missing.length };
}

/**
 * Removes all objects but those of the current generation, those that are young, because a push under way may
 * have just sent them, and those of generations whose manifests are young, because a replica may still be
 * pulling them. Nothing else may stay: a cover may have been taken down since.
 * @param current the generation that the release names
 * @returns how many objects were removed
 */
async function tidy(depot: WritableDepot, current: Manifest, graceMs: number): Promise<number> {
  const objects = await listObjects(depot);
  // By the clock of the depot, which may differ from that of this machine.
  const now = objects.reduce((time, { modifiedAt }) => Math.max(time, modifiedAt), Date.now());
  const listed = new Set(objects.map((each) => each.path));
  const kept = new Set(objectsOf(current));
  for (const { path: name, modifiedAt } of objects) {
    if (modifiedAt + graceMs <= now) continue;
    kept.add(name);
    if (!name.startsWith(MANIFESTS) || name === storedManifest(current.id)) continue;
    const encoded = await readObject(depot, name, LARGEST_MANIFEST);
    try {
      for (const each of objectsOf(parseManifest(encoded ?? ''))) {
        if (listed.has(each)) kept.add(each);
      }
    } catch {
      // It is damaged, so nobody can pull that generation.
    }
  }
  const old = objects.filter(({ path: name }) => !kept.has(name));
  // Manifests come first: then no reader finds a generation whose files are gone.
  for (const { path: name } of old) await depot.remove(name);
  return old.length;
}

function objectsOf({ id, files }: Manifest): string[] {
  return [storedManifest(id), ...files.map(({ sha256 }) => storedFile(sha256))];
}

/** How often `current` is read: one system call. */
const INTERVAL_MS = 500;
/** A push that finds nothing new sends what the depot has lost, and removes what it no longer needs. */
const CHECK_MS = 60_000;

/**
 * Keeps a depot up to date: pushes whenever another generation has become current, and again after a while.
 * @param send pushes the current generation once; if it fails, it is tried again
 */
export function pushChanges(
  snapshotsDir: string,
  send: () => Promise<PushResult>,
  tasks: Tasks,
  log: Logger,
  now = Date.now,
) {
  /** The generation that was pushed last, and when. */
  let last: { readonly id: string; readonly at: number } | undefined;
  const pushOnce = tasks.observe('push', send);
  const check = async () => {
    const id = currentId(snapshotsDir);
    if (id === undefined || (id === last?.id && now() < last.at + CHECK_MS)) return;
    const result = await pushOnce();
    if (result.outcome !== 'unchanged' || result.removed > 0) log.info(result, 'pushed');
    last = { id, at: now() };
  };
  return poll(check, INTERVAL_MS, ({ message }) =>
    log.error(`The push failed, and will be tried again: ${message}`),
  );
}
