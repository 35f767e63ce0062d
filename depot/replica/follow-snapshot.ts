/**
 * Keeps a snapshots folder equal to the generation that the pointer of a remote store names. Each check
 * reads the pointer; if it is new and may be accepted, the generation is pulled and published.
 *
 * Invariant: a pointer is saved as accepted before its generation becomes current, so that no older one
 * is ever accepted afterwards, also after a crash in between.
 */
import path from 'node:path';
import {
  encodePointer,
  LARGEST_POINTER,
  type Pointer,
  parsePointer,
} from '../../format/pointer.ts';
import { POINTER } from '../../format/remote-layout.ts';
import { makeKnownFiles } from '../../generations/files/checked-files.ts';
import { replaceFile } from '../../generations/files/replace-file.ts';
import { currentId } from '../../generations/generations.ts';
import { addStateToErrors, HeldError } from '../../generations/hold.ts';
import { LockedError } from '../../generations/lock.ts';
import { readBoundedFileSync } from '../../program/files/bounded-file.ts';
import { type PullReport, type PullResult, pull } from '../pull/pull.ts';
import type { RateLimit } from '../pull/rate-limit.ts';
import { GoneError, PullRefusedError } from '../pull/source.ts';
import { openStoreSource } from '../pull/store-source.ts';
import type { RemoteStore } from '../remote/remote.ts';
import { checkPointer } from '../signatures/check-pointer.ts';
import type { VerifyingKey } from '../signatures/keys.ts';
import type { Clock } from '../transfer/clock.ts';
import { readAccepted, saveAccepted } from './accepted.ts';
import { makePointerReader } from './read-pointer.ts';

export interface FollowOptions {
  readonly remote: RemoteStore;
  readonly snapshotsDir: string;
  /** If there are any, the pointer must be signed with one of them. */
  readonly publicKeys: readonly VerifyingKey[];
  /** How many files are fetched at the same time. */
  readonly parallel: number;
  readonly limit: RateLimit;
  readonly report: PullReport;
  readonly clock: Clock;
}

export interface Followed {
  /** The pointer; its generation is current. */
  readonly pointer: Pointer;
  /** What this check has pulled; undefined if the generation was current before. */
  readonly pulled: PullResult | undefined;
  /** How many bytes were received for it. */
  readonly received: number;
}

export interface SnapshotFollower {
  /**
   * Checks once. Must not be called again before the check has ended.
   * @throws PullRefusedError, HeldError, LockedError, GoneError, WaitingError; or another Error, if the
   * store or the disk fails
   */
  check(): Promise<Followed>;
}

/** A pull failed, and is tried again later. The message is that of the failed pull. */
export class WaitingError extends Error {
  override readonly name = 'WaitingError';
}

/**
 * How often a check begins its pull again because the pointer has moved. Each time it keeps the files that
 * the newer generation has too.
 */
const MOST_RESTARTS = 10;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;

export function makeSnapshotFollower(options: FollowOptions): SnapshotFollower {
  const { remote, snapshotsDir, publicKeys, report, clock } = options;
  const readText = makePointerReader(remote, POINTER, LARGEST_POINTER);
  const files = makeKnownFiles(clock.now);
  let known: { readonly text: string; readonly pointer: Pointer } | undefined;
  /** The id of the generation that was found intact, or was pulled, by this process. */
  let settledId: string | undefined;
  /** For the known pointer: the error of its last pull, how often it failed, and when to try again. */
  let failed: { readonly error: Error; readonly times: number; readonly until: number } | undefined;

  /** @throws PullRefusedError */
  function accept(text: string): Pointer {
    const { snapshot: last } = readAccepted(snapshotsDir);
    const pointer = parse(text);
    const refusal = checkPointer(pointer, publicKeys, last ?? undefined);
    if (refusal !== undefined) {
      throw new PullRefusedError(`${remote.name}: ${refusal.message} Nothing is published.`);
    }
    const { sequence, id, manifest_sha256 } = pointer;
    if (sequence !== last?.sequence) {
      saveAccepted(snapshotsDir, { snapshot: { sequence, id, manifest_sha256 } });
    }
    return pointer;
  }

  function parse(text: string): Pointer {
    try {
      return parsePointer(text);
    } catch (cause) {
      throw new PullRefusedError(`${remote.name}: ${(cause as Error).message}`, { cause });
    }
  }

  /** Reads the pointer. @throws PullRefusedError, or another Error if the store fails */
  async function readNewest(): Promise<Pointer> {
    const text = await readText();
    if (known?.text !== text) {
      failed = undefined;
      known = undefined;
      known = { text, pointer: accept(text) };
    }
    return known.pointer;
  }

  async function pullAgain(pointer: Pointer): Promise<Omit<Followed, 'pointer'>> {
    if (failed !== undefined && clock.now() < failed.until) {
      throw new WaitingError(failed.error.message, { cause: failed.error });
    }
    const source = openStoreSource({ ...options, pointer });
    try {
      const pulled = await addStateToErrors(snapshotsDir, () =>
        pull(source, {
          ...options,
          // The order of pointers decides, not that of generations: the origin may have been installed again.
          isForced: true,
          known: files,
          beforeCurrent: () => savePointer(snapshotsDir, pointer),
        }),
      );
      // The generation may have been current already, and a newer pointer names it again.
      savePointer(snapshotsDir, pointer);
      failed = undefined;
      return { pulled, received: source.received() };
    } catch (error) {
      // Both can end at any moment, and neither has cost a transfer.
      if (error instanceof HeldError || error instanceof LockedError) throw error;
      const times = (failed?.times ?? 0) + 1;
      const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (times - 1));
      failed = { error: error as Error, times, until: clock.now() + wait };
      throw error;
    }
  }

  return {
    async check() {
      let pointer = await readNewest();
      const isSettled = settledId === pointer.id && currentId(snapshotsDir) === pointer.id;
      if (isSettled) return { pointer, pulled: undefined, received: 0 };
      for (let restarts = 0; ; restarts++) {
        try {
          const { pulled, received } = await pullAgain(pointer);
          settledId = pointer.id;
          const isNew = pulled?.outcome === 'published';
          return { pointer, pulled: isNew ? pulled : undefined, received };
        } catch (error) {
          // An object is missing: a push that moved the pointer has removed it, or the store has a fault.
          if (!(error instanceof GoneError) || restarts === MOST_RESTARTS) throw error;
          const newest = await readNewest();
          if (newest.sequence === pointer.sequence) throw error;
          report.step(`${error.message} Continuing with ${newest.id}`);
          pointer = newest;
        }
      }
    },
  };
}

/**
 * Writes the pointer for replicas that pull from this folder, and for pushes of this replica. Its generation is in
 * the folder, and becomes current next.
 */
function savePointer(snapshotsDir: string, pointer: Pointer): void {
  const file = path.join(snapshotsDir, POINTER);
  const text = encodePointer(pointer);
  try {
    if (readBoundedFileSync(file, LARGEST_POINTER).toString('utf8') === text) return;
  } catch {
    // There is none yet, or it is damaged.
  }
  replaceFile(file, text);
}
