/**
 * `accepted.json`: the newest releases that a replica has accepted. The replica never accepts older ones, so
 * even somebody who controls the depot cannot bring back an old generation or a revoked key. If the file is
 * damaged, the replica accepts nothing until an operator removes the file.
 */
import { parseFile } from './json/parse-file.ts';
import { isSequence, isSha256 } from './json/values.ts';
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

/** @throws Error that says what is wrong */
export function parseAccepted(text: string): Accepted {
  const { snapshot, keys } = parseFile(text, ACCEPTED_FILE, VERSION);
  if (isAccepted(snapshot) && isAccepted(keys)) return { snapshot, keys };
  throw new Error(`${ACCEPTED_FILE} is damaged: it does not name what was accepted.`);
}

function isAccepted(value: unknown): value is AcceptedRelease | null {
  if (value === null) return true;
  const { from, id, sequence, sha256 }: Partial<Record<string, unknown>> = Object(value);
  return (
    typeof from === 'string' && typeof id === 'string' && isSequence(sequence) && isSha256(sha256)
  );
}
