/**
 * `replica.json`: the state of the replica that writes this snapshots folder. `cover-catalogue replica`
 * replaces it at every check, and `/readyz` and `/metrics` of the proxy show it. Times are RFC 3339 in UTC.
 */
import { jsonFile } from './json/parse-file.ts';
import { isString, isTime, type Members, orNull, withMembers } from './json/values.ts';
import { isGenerationId, REPLICA_FILE } from './layout.ts';

const PART = {
  /** The address of the depot, without credentials. */
  from: isString,
  /** When this was last found equal to what the depot offers, or null. */
  current_as_of: orNull(isTime),
  /** Why the last check failed, or null. */
  error: orNull(isString),
  /** What was refused last, and why; stays until the depot offers something acceptable. Or null. */
  refused: orNull(withMembers({ at: isTime, error: isString })),
};
const SHAPE = {
  snapshot: withMembers({
    ...PART,
    /** The generation that was equal to the depot's at `current_as_of`, or null. */
    id: orNull(isGenerationId),
    /** When the origin published it, or null. */
    published_at: orNull(isTime),
  }),
  /** Null if this replica gets no keys. */
  keys: orNull(withMembers(PART)),
};

/** Something that a replica keeps equal to a depot: the snapshot, or the keys. */
export type ReplicaPart = Members<typeof PART>;
export type ReplicaState = Members<typeof SHAPE>;

export const replicaFile = jsonFile(REPLICA_FILE, 1, SHAPE);
