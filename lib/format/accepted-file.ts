/**
 * `accepted.json`: the newest releases that a replica has accepted. The replica never accepts older ones, so
 * even somebody who controls the depot cannot bring back an old generation or a revoked key. If the file is
 * damaged, the replica accepts nothing until an operator removes the file.
 */
import { jsonFile } from './json/parse-file.ts';
import {
  isSequence,
  isSha256,
  isString,
  type Members,
  orNull,
  withMembers,
} from './json/values.ts';
import { ACCEPTED_FILE } from './layout.ts';
import type { ReleaseKind } from './release.ts';

const RELEASE = {
  /** The address of the depot: another one has sequences of its own. */
  from: isString,
  id: isString,
  sequence: isSequence,
  sha256: isSha256,
};
const ofRelease = orNull(withMembers(RELEASE));
const SHAPE = { snapshot: ofRelease, keys: ofRelease } satisfies Record<ReleaseKind, unknown>;

export type AcceptedRelease = Members<typeof RELEASE>;
export type Accepted = Members<typeof SHAPE>;

export const acceptedFile = jsonFile(ACCEPTED_FILE, 2, SHAPE);
