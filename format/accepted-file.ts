/**
 * `accepted.json`: the newest releases that a replica has accepted. The replica never accepts older ones, so
 * even somebody who controls the depot cannot bring back an old generation or a revoked key. If the file is
 * damaged, the replica accepts nothing until an operator removes the file.
 */
import { parseFile, readMembers } from './json/parse-file.ts';
import { hasMembers, isSequence, isSha256, isString, orNull } from './json/values.ts';
import { ACCEPTED_FILE } from './layout.ts';
import type { Release, ReleaseKind } from './release.ts';

const VERSION = 2;
/** The largest file that is read, in bytes. */
export const LARGEST_ACCEPTED_FILE = 16 * 1024;

interface AcceptedRelease extends Pick<Release, 'id' | 'sequence' | 'sha256'> {
  /** The address of the depot: another one has sequences of its own. */
  readonly from: string;
}

export type Accepted = Readonly<Record<ReleaseKind, AcceptedRelease | null>>;

export function encodeAccepted({ snapshot, keys }: Accepted): string {
  return `${JSON.stringify({ version: VERSION, snapshot, keys }, null, 1)}\n`;
}

const RELEASE = { from: isString, id: isString, sequence: isSequence, sha256: isSha256 };
const isAccepted = orNull((value) => hasMembers(value, RELEASE));

/** @throws Error that says what is wrong */
export function parseAccepted(text: string): Accepted {
  const found = parseFile(text, ACCEPTED_FILE, VERSION);
  return readMembers<Accepted>(found, ACCEPTED_FILE, { snapshot: isAccepted, keys: isAccepted });
}
