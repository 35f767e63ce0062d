/**
 * Reads the release of a depot, and decides whether it is accepted. A replica remembers on disk what it has
 * accepted: without that, an old release could be offered again.
 */
import type { KeyObject } from 'node:crypto';
import {
  LARGEST_RELEASE,
  parseRelease,
  RELEASES,
  type Release,
  type ReleaseKind,
} from '../format/release.ts';
import { type Depot, RefusedReleaseError, TransferError } from './depot.ts';
import { readAccepted, saveAccepted } from './replica-files.ts';
import { isSignedBy } from './signing.ts';
import { type Clock, readWhole, tryAgain } from './transfers.ts';

/** A release has less than a kilobyte. */
const LONGEST_READ_MS = 10_000;

interface ReadRelease {
  readonly etag: string | undefined;
  readonly bytes: Buffer;
}

/**
 * Reads a release, unless it has the etag of a known one.
 * @returns the known one if it has not changed; undefined if there is none
 * @throws TransferError, also after 10 s; RefusedReleaseError if it is too large
 */
export async function readRelease(
  depot: Depot,
  kind: ReleaseKind,
  known?: ReadRelease,
): Promise<ReadRelease | undefined> {
  const signal = AbortSignal.timeout(LONGEST_READ_MS);
  const what = `${RELEASES[kind]} at ${depot.name}`;
  try {
    const reply = await depot.get(RELEASES[kind], { etag: known?.etag, signal });
    if (typeof reply === 'string') return reply === 'unchanged' ? known : undefined;
    return { etag: reply.etag, bytes: await readWhole(reply, LARGEST_RELEASE, what) };
  } catch (cause) {
    if (!signal.aborted) throw cause;
    throw new TransferError(`${what} was not sent within ${LONGEST_READ_MS / 1000} s`, { cause });
  }
}

export interface FollowOptions {
  readonly snapshotsDir: string;
  /** If there are any, a release must be signed with one of them. */
  readonly publicKeys: readonly KeyObject[];
  readonly clock: Clock;
}

/**
 * @returns a function that reads the newest release with a conditional request, and accepts it. Once it
 * returns a release, no older one is ever accepted, also after a crash.
 * @throws the function throws RefusedReleaseError, or another Error if there is no release or it cannot be
 * read
 */
export function followRelease(
  depot: Depot,
  kind: ReleaseKind,
  { snapshotsDir, publicKeys, clock }: FollowOptions,
): () => Promise<Release> {
  let last: ReadRelease | undefined;
  let accepted: Release | undefined;

  function accept(bytes: Buffer): Release {
    const release = parse(bytes);
    const { [kind]: before } = readAccepted(snapshotsDir);
    const { id, sequence, sha256 } = release;
    if (publicKeys.length > 0) checkSignature(release);
    if (before?.from === depot.name) {
      const offer = `It offers ${id} with the sequence ${sequence}, and ${before.id} with ${before.sequence} was accepted before`;
      if (sequence < before.sequence) {
        throw refuse(
          `${offer}: something older is offered again. If the origin was installed again, remove accepted.json.`,
        );
      }
      if (sequence === before.sequence) {
        if (id === before.id && sha256 === before.sha256) return release;
        throw refuse(`${offer}: two programs have pushed. Publish and push again at the origin.`);
      }
    }
    saveAccepted(snapshotsDir, { [kind]: { from: depot.name, id, sequence, sha256 } });
    return release;
  }

  function parse(bytes: Buffer): Release {
    try {
      return parseRelease(bytes, kind);
    } catch (cause) {
      throw refuse((cause as Error).message);
    }
  }

  function checkSignature(release: Release): void {
    if (isSignedBy(release, publicKeys)) return;
    throw refuse(
      release.signature === null
        ? 'It is not signed, and SNAPSHOT_PUBLIC_KEYS asks for a signature. Set SNAPSHOT_SIGNING_KEY where it is written.'
        : 'Its signature is wrong, or by a key that SNAPSHOT_PUBLIC_KEYS does not name. Add that public key if it is yours.',
    );
  }

  function refuse(fault: string): RefusedReleaseError {
    return new RefusedReleaseError(`${RELEASES[kind]} at ${depot.name} is refused. ${fault}`);
  }

  return async () => {
    // The next poll tries again, but not while the depot asks to wait.
    const read = () => readRelease(depot, kind, last);
    const found = await tryAgain(`read ${RELEASES[kind]}`, read, clock, 1);
    if (found === undefined) {
      throw new Error(`${depot.name} has no ${RELEASES[kind]}: nothing was pushed there yet.`);
    }
    // Compared, because not every web server sends ETags.
    if (accepted === undefined || !last?.bytes.equals(found.bytes)) {
      accepted = undefined;
      accepted = accept(found.bytes);
    }
    last = found;
    return accepted;
  };
}
