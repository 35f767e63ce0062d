/**
 * `replica.json`: the state of the replica that writes this snapshots folder. `cover-catalogue replica`
 * replaces it at every check, and `/readyz` and `/metrics` of the proxy show it. Times are RFC 3339 in UTC.
 */
import { parseFile, readMembers } from './json/parse-file.ts';
import { hasMembers, isString, isTime, orNull } from './json/values.ts';
import { isGenerationId, REPLICA_FILE } from './layout.ts';

const VERSION = 1;
/** The largest file that is read, in bytes. */
export const LARGEST_REPLICA_FILE = 64 * 1024;

/** Something that a replica keeps equal to a depot: the snapshot, or the keys. */
export interface FollowedPart {
  /** The address of the depot, without credentials. */
  readonly from: string;
  /** When this was last found equal to what the depot offers, or null. */
  readonly current_as_of: string | null;
  /** Why the last check failed, or null. */
  readonly error: string | null;
  /** What was refused last, and why; stays until the depot offers something acceptable. Or null. */
  readonly refused: { readonly at: string; readonly error: string } | null;
}

export interface ReplicaState {
  readonly snapshot: FollowedPart & {
    /** The generation that was equal to the depot's at `current_as_of`, or null. */
    readonly id: string | null;
    /** When the origin published it, or null. */
    readonly published_at: string | null;
  };
  /** Null if this replica gets no keys. */
  readonly keys: FollowedPart | null;
}

export function encodeReplicaState(state: ReplicaState): string {
  return `${JSON.stringify({ version: VERSION, ...state }, null, 1)}\n`;
}

const PART = {
  from: isString,
  current_as_of: orNull(isTime),
  error: orNull(isString),
  refused: orNull((value) => hasMembers(value, { at: isTime, error: isString })),
};
const SNAPSHOT = { ...PART, id: orNull(isGenerationId), published_at: orNull(isTime) };

/**
 * @param text the content of the file
 * @throws Error if it is not the state of a replica
 */
export function parseReplicaState(text: string): ReplicaState {
  return readMembers<ReplicaState>(parseFile(text, REPLICA_FILE, VERSION), REPLICA_FILE, {
    snapshot: (value) => hasMembers(value, SNAPSHOT),
    keys: orNull((value) => hasMembers(value, PART)),
  });
}
