/**
 * The release of a depot: writing it, which makes its content the current one, and polling it. What was
 * accepted is remembered on disk (`lib/format/accepted-file.ts`): without that, an old release could be offered
 * again. A sequence belongs to the key that signs, not to the address from which a release comes.
 */
import type { KeyObject } from 'node:crypto';
import path from 'node:path';
import { type AcceptedRelease, acceptedFile } from '../lib/format/accepted-file.ts';
import { LARGEST_JSON_FILE } from '../lib/format/json/parse-file.ts';
import { acceptedName } from '../lib/format/layout.ts';
import {
  encodeRelease,
  LARGEST_RELEASE,
  makeRelease,
  parseRelease,
  RELEASES,
  type Release,
  type ReleaseKind,
} from '../lib/format/release.ts';
import { makeSnapshotsFolder } from '../lib/generations/files/file-modes.ts';
import { replaceFile } from '../lib/generations/files/replace-file.ts';
import { replaceWithReserve } from '../lib/generations/files/reserve.ts';
import { readBoundedFileSync } from '../lib/program/files/bounded-file.ts';
import { type Depot, orRefuse, type WritableDepot } from './depot.ts';
import { fingerprintOf, isSignedBy, signRelease } from './signing.ts';
import { type Clock, readObject, type TransferReport } from './transfers.ts';

/**
 * Reads the release that a new one would replace.
 * @returns undefined if there is none, or none that counts: a damaged one, or one that was not signed with
 * the key. Somebody who can write to the depot, but not sign, must not stop a push.
 */
export async function readReplaced(
  depot: Depot,
  kind: ReleaseKind,
  signingKey: KeyObject | undefined,
): Promise<Release | undefined> {
  const bytes = await readObject(depot, RELEASES[kind], LARGEST_RELEASE);
  try {
    const release = parseRelease(bytes ?? '', kind);
    return signingKey === undefined || isSignedBy(release, signingKey) ? release : undefined;
  } catch {
    return undefined;
  }
}

/** Writes a release, signed if there is a key. */
export async function writeRelease(
  depot: WritableDepot,
  kind: ReleaseKind,
  content: Parameters<typeof makeRelease>[1],
  signingKey: KeyObject | undefined,
): Promise<void> {
  const release = makeRelease(kind, content);
  const signed = signingKey === undefined ? release : signRelease(release, signingKey);
  await depot.put(RELEASES[kind], Buffer.from(encodeRelease(signed)));
}

export interface ReleasePollOptions {
  readonly snapshotsDir: string;
  /** If there are any, a release must be signed with one of them. */
  readonly publicKeys: readonly KeyObject[];
  readonly report: TransferReport;
  readonly clock: Clock;
}

/**
 * @returns a function that reads the newest release, and accepts it; it returns the same object while nothing
 * is new. Once it has returned a release, no older one is ever accepted, also after a crash. It throws
 * RefusedReleaseError, or another Error if there is no release or it cannot be read.
 */
export function pollRelease(
  depot: Depot,
  kind: ReleaseKind,
  { snapshotsDir, publicKeys, clock }: ReleasePollOptions,
): () => Promise<Release> {
  let last: { readonly bytes: Buffer; readonly release: Release } | undefined;
  const file = path.join(snapshotsDir, acceptedName(kind));
  const from = depot.name;
  const trusted = new Map(publicKeys.map((key) => [fingerprintOf(key), key]));

  /** Whether what was accepted earlier limits what is accepted now. */
  function counts({ signer, from: earlier }: AcceptedRelease): boolean {
    // Somebody else may have a key that is no longer trusted, and have signed any sequence.
    if (trusted.size > 0 && signer !== null) return trusted.has(signer);
    return earlier === from;
  }

  function accept(bytes: Buffer): Release {
    const accepted = readAccepted(file, kind);
    let signer: string | null = null;
    const release = orRefuse(`${RELEASES[kind]} at ${from}`, () => {
      const offered = parseRelease(bytes, kind);
      if (trusted.size > 0) {
        [signer] = [...trusted].find(([, key]) => isSignedBy(offered, key)) ?? [null];
        if (signer === null) {
          const fault = offered.signature === null ? 'it is not signed' : 'its signature is wrong';
          throw new Error(`${fault}. SNAPSHOT_PUBLIC_KEYS must name the public key of the origin.`);
        }
      }
      for (const before of accepted.filter(counts)) checkSequence(offered, before, file);
      return offered;
    });
    const { id, sequence, sha256 } = release;
    const isReplaced = (each: AcceptedRelease) =>
      each.signer === signer && (signer !== null || each.from === from);
    const releases = accepted.filter((each) => !isReplaced(each));
    releases.push({ signer, from, id, sequence, sha256 });
    makeSnapshotsFolder(snapshotsDir);
    const replace = kind === 'keys' ? replaceWithReserve : replaceFile;
    replace(file, acceptedFile(kind).encode({ releases }));
    return release;
  }

  return async () => {
    const bytes = await readObject(depot, RELEASES[kind], LARGEST_RELEASE, clock);
    if (bytes === undefined) {
      throw new Error(`${depot.name} has no ${RELEASES[kind]}: nothing was pushed there yet.`);
    }
    if (!last?.bytes.equals(bytes)) last = { bytes, release: accept(bytes) };
    return last.release;
  };
}

/** @param before what was accepted last @throws Error if the other release must not follow it */
function checkSequence({ sequence, sha256 }: Release, before: AcceptedRelease, file: string): void {
  const growth = sequence - before.sequence;
  if (growth > 0 || (growth === 0 && sha256 === before.sha256)) return;
  const fault = growth < 0 ? 'something older is offered again' : 'two programs have pushed';
  throw new Error(
    `its sequence is ${sequence}, and ${before.sequence} of ${before.id} was accepted before from ${before.from}: ${fault}. Publish and push again at the origin. If that was installed again, remove ${file}.`,
  );
}

/**
 * What was accepted last; nothing before the first time.
 * @throws Error if the file cannot be read: nothing may be accepted then
 */
function readAccepted(file: string, kind: ReleaseKind): readonly AcceptedRelease[] {
  try {
    const text = readBoundedFileSync(file, LARGEST_JSON_FILE).toString('utf8');
    return acceptedFile(kind).parse(text).releases;
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT') return [];
    throw new Error(
      `${message.replace(/\.?$/, '.')} Nothing new is accepted, because it could be old. If the depot can be trusted, remove ${file}.`,
      { cause },
    );
  }
}
