/**
 * Pushes the current generation of a snapshots folder to a remote store: the files that the store does
 * not have, deltas from the generation that it had before, and last the pointer.
 *
 * Invariant: whatever the pointer in the store names is complete. A push that was killed leaves objects
 * that the next one finds, and nothing that readers could mistake for a generation. Pushes from one
 * snapshots folder wait for each other.
 */
import { hash } from 'node:crypto';
import path from 'node:path';
import { LARGEST_MANIFEST, type Manifest, parseManifest } from '../../format/manifest.ts';
import { encodePointer, type Pointer } from '../../format/pointer.ts';
import {
  encodeObjectList,
  objectList,
  POINTER,
  remoteManifest,
} from '../../format/remote-layout.ts';
import { makeFolder } from '../../generations/files/file-modes.ts';
import {
  checkId,
  currentId,
  generationDir,
  readManifestBytes,
} from '../../generations/generations.ts';
import { type LockedError, waitForLock } from '../../generations/lock.ts';
import { messageOf } from '../../program/failure.ts';
import { contentOf } from '../remote/content.ts';
import type { RemoteStore } from '../remote/remote.ts';
import { tryAgain } from '../transfer/try-again.ts';
import {
  choosePointer,
  isSame,
  isTrusted,
  newerError,
  type PointerOptions,
  PushRefusedError,
  readStoredPointer,
} from './pushed-pointer.ts';
import { type PutCounts, putObjects } from './put-objects.ts';
import { readObjectList, readSmall } from './stored-generations.ts';
import { AGAIN_MS, tidy } from './tidy.ts';

/** Inside `SNAPSHOTS_DIR`: the lock of pushes. */
const PUSH_FOLDER = 'push';

export interface PushOptions extends PointerOptions {
  /** How many objects are sent at the same time. */
  readonly parallel: number;
  /** How long a generation stays in the store after another one has replaced it. */
  readonly graceMs: number;
  readonly report: PushReport;
}

/** Is told how a push advances. */
export interface PushReport {
  /** @param size of the files that are to be sent, in bytes and not compressed; `done` of them are sent */
  advance(done: number, size: number): void;
  step(text: string): void;
  warn(text: string): void;
}

export interface PushResult extends PutCounts {
  /** "unchanged" if the store had the pointer and every object already. */
  readonly outcome: 'pushed' | 'unchanged';
  readonly pointer: Pointer;
  /** How many objects were removed that no generation needs any more. */
  readonly removed: number;
  /** In how many milliseconds a push can remove more, even if it has nothing to send. */
  readonly againInMs: number | undefined;
}

/**
 * @throws PushRefusedError if the store has something that must stay; any other Error names what failed
 */
export async function push(remote: RemoteStore, options: PushOptions): Promise<PushResult> {
  const { snapshotsDir, report } = options;
  if (!remote.isWritable) {
    throw new PushRefusedError(
      `${remote.name} is a web server, which can only be read. Push to the folder that it serves, or to S3.`,
    );
  }
  if (currentId(snapshotsDir) === undefined) {
    throw new Error(`There is no generation in ${snapshotsDir} yet, so there is none to push.`);
  }
  const folder = path.join(snapshotsDir, PUSH_FOLDER);
  makeFolder(folder);
  const onWait = ({ message }: LockedError) => report.step(message);
  return waitForLock(folder, () => pushLocked(remote, options), onWait);
}

async function pushLocked(remote: RemoteStore, options: PushOptions): Promise<PushResult> {
  const { report } = options;
  const { manifest, encoded } = readCurrent(options.snapshotsDir);
  const { id } = manifest;
  const before = await readPointer(remote);
  const pointer = choosePointer({ id, manifest_sha256: hash('sha256', encoded) }, before, options);
  report.step(`pushing ${id} to ${remote.name}`);
  const isPointed = before !== undefined && encodePointer(before) === encodePointer(pointer);
  // First of all: from now on, no other push removes an object that this generation needs.
  const isManifestThere = isPointed && (await hasManifest(remote, id, encoded));
  if (!isManifestThere) await putSmall(remote, remoteManifest(id), encoded);
  let counts = await putMissing(remote, manifest, before?.id, options);
  if (!isPointed) {
    await putPointer(remote, pointer, options);
    // Another push may have been removing objects when this one began.
    const again = await putMissing(remote, manifest, undefined, options);
    counts = { ...counts, sent: counts.sent + again.sent };
  }
  const tidied = await tidy(remote, { ...options, currentId: id }).catch((error: unknown) => {
    report.warn(
      `${remote.name} was not cleaned up, and may still have covers that were taken down: ${messageOf(error)}`,
    );
    return { removed: 0, againInMs: AGAIN_MS };
  });
  const isUnchanged = isManifestThere && counts.sent + counts.differences === 0;
  return { outcome: isUnchanged ? 'unchanged' : 'pushed', pointer, ...tidied, ...counts };
}

function readCurrent(snapshotsDir: string): { manifest: Manifest; encoded: Buffer } {
  const id = currentId(snapshotsDir) ?? '';
  const encoded = readManifestBytes(generationDir(snapshotsDir, id));
  const manifest = parseManifest(encoded.toString('utf8'));
  checkId(manifest, id);
  return { manifest, encoded };
}

/** Whether a store still has a manifest, byte by byte. */
async function hasManifest(remote: RemoteStore, id: string, encoded: Buffer): Promise<boolean> {
  const stored = await readSmall(remote, remoteManifest(id), LARGEST_MANIFEST);
  return stored?.equals(encoded) ?? false;
}

function readPointer(remote: RemoteStore): Promise<Pointer | undefined> {
  return tryAgain(`read ${POINTER}`, () => readStoredPointer(remote));
}

async function putSmall(remote: RemoteStore, name: string, bytes: Buffer | string): Promise<void> {
  await tryAgain(`write ${name}`, () => remote.put(name, contentOf(bytes)));
}

/** Sends what the store does not have of a generation, except for its manifest and the pointer. */
async function putMissing(
  remote: RemoteStore,
  manifest: Manifest,
  baseId: string | undefined,
  { snapshotsDir, parallel, report }: PushOptions,
): Promise<PutCounts> {
  const known = await readObjectList(remote, manifest.id);
  const { list, counts } = await putObjects(remote, {
    snapshotsDir,
    manifest,
    baseId,
    parallel,
    known: known?.differences ?? [],
    onAdvance: report.advance,
  });
  const encoded = encodeObjectList(list);
  if (known === undefined || encodeObjectList(known) !== encoded) {
    await putSmall(remote, objectList(manifest.id), encoded);
  }
  return counts;
}

/** @throws PushRefusedError if somebody else has pushed something newer in the meantime */
async function putPointer(
  remote: RemoteStore,
  pointer: Pointer,
  options: PushOptions,
): Promise<void> {
  const refuseNewer = async () => {
    const now = await readStoredPointer(remote);
    if (now === undefined || options.isForced || !isTrusted(now, options)) return;
    const isOther = now.sequence === pointer.sequence && !isSame(now, pointer);
    if (now.sequence > pointer.sequence || isOther) throw newerError(now, pointer);
  };
  // Before each try, because a failed one may have taken long.
  await tryAgain(`write ${POINTER}`, async () => {
    await refuseNewer();
    await remote.put(POINTER, contentOf(encodePointer(pointer)));
  });
  await tryAgain(`read ${POINTER}`, refuseNewer);
}
